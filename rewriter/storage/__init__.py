"""Reads and writes model files: a model is read without its weights, and written with them, completely or not at all."""

from .paths import INPUT, INPUT_DATA, OUTPUT, REPORT, STDOUT, NamedFile, check_apart, check_destination, check_different, write_text
from .reading import read
from .skeleton import Skeleton
from .spool import SpooledFile, spooled, spooled_stream
from .staging import Staged, stage

__all__ = [
    "INPUT",
    "INPUT_DATA",
    "OUTPUT",
    "REPORT",
    "STDOUT",
    "NamedFile",
    "Skeleton",
    "SpooledFile",
    "Staged",
    "check_apart",
    "check_destination",
    "check_different",
    "read",
    "spooled",
    "spooled_stream",
    "stage",
    "write_text",
]
