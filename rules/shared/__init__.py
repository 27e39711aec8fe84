"""Helper functions that several rule modules use; there are no rules here."""
