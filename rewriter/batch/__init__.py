"""Converts many models: finds the files, converts each in a process of its own, and collects the reports."""
