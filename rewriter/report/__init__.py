"""Reports on a conversion: as text, as JSON, and as an HTML page."""
