"""What operators compute, as maps of indices and arithmetic of lengths; a module for each family. Importing one registers it."""

from __future__ import annotations

from . import arithmetic, movement, sequences, shapes, splits

__all__ = ["arithmetic", "movement", "sequences", "shapes", "splits"]
