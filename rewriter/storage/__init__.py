"""The way in and out of model files: read the skeleton of one, and write it with its payloads, whole or not at all."""

from .reading import read
from .skeleton import Skeleton
from .staging import Staged, check_destination, stage

__all__ = ["Skeleton", "Staged", "check_destination", "read", "stage"]
