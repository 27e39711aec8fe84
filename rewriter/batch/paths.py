"""Functions that classify the paths of the command line. They do not import onnx, so that a run of one model starts quickly."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable

LIST = "@"
"""The prefix of the name of a file that lists one path on each line; "@-" is such a list on standard input."""


def is_uri(path: str) -> bool:
    """Whether `path` is a URI, to be opened by fsspec, and not a path of this system."""
    return "://" in path


def local_path(path: str) -> str:
    """The path in this system that fsspec opens for the URI `path`, such as file:///zoo/; `path` itself where there is none.

    As fsspec does, this expands a ~ at the beginning and leaves slashes at the end out.
    """
    protocol, separator, rest = path.rpartition("::")[2].partition("://")
    if not separator or protocol not in ("file", "local"):
        return path
    return os.path.expanduser(rest).rstrip("/") or ("/" if rest.startswith("/") else os.curdir)


def is_local_uri(path: str) -> bool:
    """Whether `path` is a URI of a file or folder of this system, and not of one inside another file, as zip://a::file://b is."""
    return "::" not in path and local_path(path) != path


def is_glob(path: str) -> bool:
    """Whether `path` is not the name of a file but a pattern that may match some."""
    return not os.path.lexists(path) and glob.has_magic(path)


def names_many(path: str) -> bool:
    """Whether `path` stands for several files: a folder, a list or a glob."""
    return path.startswith(LIST) or os.path.isdir(path) or is_glob(path)


def is_folder(path: str) -> bool:
    """Whether `path` is a folder for results: it exists as a folder, or ends with a slash."""
    return path.endswith(("/", os.sep)) or os.path.isdir(local_path(path))


def is_for_many(paths: Iterable[str], into: str | None) -> bool:
    """Whether this is a run of many models: there is a list, folder, glob or URI, or results go into a folder."""
    return any(names_many(path) or is_uri(path) for path in paths) or (into is not None and (is_folder(into) or is_uri(into)))


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """The number of bytes in "4GB", "512M", "1.5 GiB" or a plain number; a K is 1,024. Raises ValueError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"expected a size like 4GB or 512M, not '{text}'")
    return int(float(match[1]) * _UNITS[match[2].upper()])
