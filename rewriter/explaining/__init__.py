"""Explains the error messages of runtimes and tools: what each means, and the command that helps."""
