"""Helpers that several rule modules use; no rule lives here."""
