"""The files that a model is read from: its own file, and those of its external data.

A model from a stranger may name any file as its data, so everything but a plain file in the model's own folder is refused.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..errors import InvalidModelError, MissingModelError
from ..suggestions import did_you_mean
from . import wire
from .spool import SpooledFile

# Windows translates line ends without O_BINARY; elsewhere, a file may become a FIFO that nobody writes to.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


_MOST_COMPARED = 1000
"""The number of files in a folder up to which their names are compared with one that does not exist."""
_SUFFIX = ".onnx"


@dataclass(frozen=True)
class SourceFile:
    """A regular file in the state in which it was first read. `name` is how messages name it."""

    path: Path
    name: str
    stamp: tuple[int, int, int, int]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.stamp[2]

    @property
    def identity(self) -> tuple[int, int]:
        """The device and inode of the file."""
        return self.stamp[:2]

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor for reading, open inside a `with`. Raises InvalidModelError where the file has changed."""
        try:
            descriptor = os.open(self.path, _READ)
        except OSError as error:
            raise InvalidModelError(f"{self.name}: cannot be opened: {error.strerror}") from error
        try:
            if _stamp(os.fstat(descriptor)) != self.stamp:
                raise self._changed()
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """Read `length` bytes from `offset`. Raises InvalidModelError where the file has changed, or the disk fails."""
        try:
            with self.opened() as descriptor:
                return wire.FileSource(descriptor, self.size).read(offset, offset + length)
        except wire.MalformedError as error:
            raise self._changed() from error
        except OSError as error:
            raise InvalidModelError(f"{self.name}: cannot be read: {error.strerror}") from error

    def _changed(self) -> InvalidModelError:
        """The error for a file that has changed since it was first read."""
        return InvalidModelError(f"{self.name}: changed on disk while it was being converted; try again")


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    """Device, inode, size and time of a file, by which a change is noticed."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def model_file(path: str | os.PathLike[str]) -> SourceFile:
    """Open the model file at `path`; symbolic links are followed. Raises InvalidModelError where it is not a regular file."""
    name = path.shown if isinstance(path, SpooledFile) else os.fspath(path)
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise MissingModelError(f"{name}: there is no such file{_similar_file(path)}") from error
    except (OSError, ValueError) as error:
        raise InvalidModelError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISDIR(status.st_mode):
        raise InvalidModelError(f"{name}: is a folder; name the .onnx file in it")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidModelError(f"{name}: is not a regular file")
    return SourceFile(Path(path), name, _stamp(status))


def _similar_file(path: str | os.PathLike[str]) -> str:
    """A question about a file beside `path` whose name resembles it; empty where there is none, or too many to compare."""
    folder, name = os.path.split(os.fspath(path))
    with suppress(OSError):
        names = os.listdir(folder or os.curdir)
        if len(names) <= _MOST_COMPARED:
            return did_you_mean(name, [other for other in names if other.endswith(_SUFFIX)])
    return ""


def location_problem(location: str) -> str:
    """Why external data cannot be at `location`; "" where it can."""
    parts = PurePosixPath(location).parts
    if not parts or "\0" in location:
        return "is not a file name"
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        return "is an absolute path; external data has to lie in the model's folder"
    if _leaves(parts) or _leaves(PureWindowsPath(location).parts):
        return "leaves the model's folder"
    return ""


def _leaves(parts: Sequence[str]) -> bool:
    """Whether the path with these parts, on its way down or at its end, is above the folder in which it begins."""
    depths = itertools.accumulate(-1 if part == ".." else 1 for part in parts)
    return min(depths) < 0


def data_file(base_dir: Path, location: str) -> SourceFile:
    """Open the external data file at `location` in the model's folder.

    Like onnx, this refuses everything that could lead to another file than the one that came with the model: absolute paths, paths
    that leave the folder, symbolic and hard links, and anything that is not a regular file. Raises InvalidModelError.
    """
    name = f"data file {location!r}"
    problem = location_problem(location)
    if problem:
        raise InvalidModelError(f"{name}: {problem}")
    *folders, last = PurePosixPath(location).parts
    path = base_dir
    for folder in folders:
        path /= folder
        _status(path, name, base_dir)
    path /= last
    status = _status(path, name, base_dir)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidModelError(f"{name}: {path} is not a regular file")
    if status.st_nlink > 1:
        raise InvalidModelError(f"{name}: {path} has several hard links; put a copy of its own into the model's folder")
    return SourceFile(path, name, _stamp(status))


def _status(path: Path, name: str, base_dir: Path) -> os.stat_result:
    """The status of the file at `path`. Raises InvalidModelError where it is missing, or is not a regular file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        where = "the folder of the model" if base_dir == Path() else base_dir
        raise InvalidModelError(f"{name}: there is no such file in {where}") from None
    except OSError as error:
        raise InvalidModelError(f"{name}: cannot be read: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise InvalidModelError(f"{name}: {path} is a symbolic link; put the file itself into the model's folder")
    return status
