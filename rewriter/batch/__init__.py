"""Many models: which files, on which executor, and what came of each."""
