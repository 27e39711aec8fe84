"""Copies a model that comes through a pipe to a temporary file, because tensors are read from disk when they are needed."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InvalidModelError
from .wire import LARGEST_PROTOBUF

_AT_ONCE = 1 << 20  # bytes


class SpooledFile:
    """A copy, at `path`, of what came through a pipe. `shown` is how messages name it."""

    def __init__(self, path: Path, shown: str) -> None:
        self.path = path
        self.shown = shown

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return self.shown


@contextmanager
def spooled(path: str | os.PathLike[str]) -> Iterator[str | os.PathLike[str]]:
    """`path` itself, or inside the `with` a copy if it is a pipe. Raises InvalidModelError."""
    if not _is_pipe(path):
        yield path
        return
    name = os.fspath(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise InvalidModelError(f"{name}: cannot be opened: {error.strerror}") from error
    try:
        with spooled_stream(descriptor, name) as copy:
            yield copy
    finally:
        os.close(descriptor)


def _is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a pipe."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False  # whoever reads it says what is wrong


@contextmanager
def spooled_stream(descriptor: int, shown: str) -> Iterator[SpooledFile]:
    """Inside the `with`, a copy of everything that comes from `descriptor`. Raises InvalidModelError."""
    with tempfile.TemporaryDirectory(prefix="split-rewrite-") as folder:
        path = Path(folder, "model.onnx")
        try:
            _copy(descriptor, path, shown)
        except OSError as error:
            raise InvalidModelError(f"{shown}: cannot be read: {error.strerror}") from error
        yield SpooledFile(path, shown)


def _copy(descriptor: int, path: Path, shown: str) -> None:
    """Copy everything from `descriptor` to `path`. Raises InvalidModelError, naming `shown`."""
    length = 0
    with open(path, "wb") as out:
        while part := os.read(descriptor, _AT_ONCE):
            length += len(part)
            if length > LARGEST_PROTOBUF:
                raise InvalidModelError(f"{shown}: has more than 2 GiB, too much for a pipe; name the file instead")
            out.write(part)
