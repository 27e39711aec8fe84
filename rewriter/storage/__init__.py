"""The way in and out of model files: read the skeleton of one, and write it with its payloads, whole or not at all."""

from .paths import INPUT_DATA, REPORT, STDOUT, NamedFile, check_apart, check_destination, write_text
from .reading import read
from .skeleton import Skeleton
from .spool import SpooledFile, spooled, spooled_stream
from .staging import Staged, stage

__all__ = [
    "INPUT_DATA",
    "REPORT",
    "STDOUT",
    "NamedFile",
    "Skeleton",
    "SpooledFile",
    "Staged",
    "check_apart",
    "check_destination",
    "read",
    "spooled",
    "spooled_stream",
    "stage",
    "write_text",
]
