"""What the command line says of many models, understood without onnx: cheap, so that one model does not pay for many."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable

LIST = "@"
"""Before the name of a file with one path a line; "@-" is such a list on standard input."""


def is_uri(path: str) -> bool:
    """Whether `path` is for fsspec, and no path of this system."""
    return "://" in path


def is_glob(path: str) -> bool:
    """Whether `path` is no file, and may match some."""
    return not os.path.lexists(path) and glob.has_magic(path)


def names_many(path: str) -> bool:
    """Whether `path` stands for other files than one with this name: a folder, a list, a glob."""
    return path.startswith(LIST) or os.path.isdir(path) or is_glob(path)


def is_folder(path: str) -> bool:
    """Whether results go into `path`, and not to it: it is a folder, or says so by its end."""
    return path.endswith(("/", os.sep)) or (not is_uri(path) and os.path.isdir(path))


def is_for_many(paths: Iterable[str], into: str | None) -> bool:
    """Whether this is more than one file to another: a list, folder, glob or URI, or a folder to write to."""
    return any(names_many(path) or is_uri(path) for path in paths) or (into is not None and (is_folder(into) or is_uri(into)))


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """Bytes of "4GB", "512M", "1.5 GiB" or a plain number; a K is 1,024. Raises: ValueError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"expected a size like 4GB or 512M, not '{text}'")
    return int(float(match[1]) * _UNITS[match[2].upper()])
