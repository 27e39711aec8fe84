"""Reports of what a conversion did: as text, as JSON, and as a page to look at."""
