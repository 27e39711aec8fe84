"""Decides whether two results are the same, and where they begin to differ."""
