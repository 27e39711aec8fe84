"""Reads and writes model files: a model is read without its weights, and written with them, completely or not at all."""

from .conflicts import (
    ADAPTER,
    INPUT,
    INPUT_DATA,
    KEPT,
    LIST,
    OUTPUT,
    PAGE_OF_MODEL,
    PROFILE,
    PYTHON,
    RECORD,
    REPORT,
    NamedFile,
    check_apart,
    check_destinations,
    data_paths,
    files_of_model,
    standard_input,
    standard_output,
)
from .paths import check_destination, different_path, identity_of, require_new, write_text
from .reading import read
from .skeleton import Skeleton
from .spool import SpooledFile, spooled, spooled_stream
from .staging import Staged, stage

__all__ = [
    "ADAPTER",
    "INPUT",
    "INPUT_DATA",
    "KEPT",
    "LIST",
    "OUTPUT",
    "PAGE_OF_MODEL",
    "PROFILE",
    "PYTHON",
    "RECORD",
    "REPORT",
    "NamedFile",
    "Skeleton",
    "SpooledFile",
    "Staged",
    "check_apart",
    "check_destination",
    "check_destinations",
    "data_paths",
    "different_path",
    "files_of_model",
    "identity_of",
    "read",
    "require_new",
    "spooled",
    "spooled_stream",
    "stage",
    "standard_input",
    "standard_output",
    "write_text",
]
