"""Runs in child processes what may crash or never end."""
