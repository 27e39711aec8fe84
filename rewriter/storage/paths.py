"""Paths to write to: which file a path leads to, whether it can be written, and how a text gets there completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import SplitRewriteError

Path_ = str | os.PathLike[str]
PACKED = ".gz"
"""The ending of the names of models that are compressed with gzip."""


def check_destination(path: Path_) -> None:
    """Raises SplitRewriteError where no file can be written to `path`. The check is cheap and saves computing a result in vain."""
    Destination.of(path)


def require_new(path: Path_) -> None:
    """Raises SplitRewriteError where anything exists at `path`."""
    if os.path.lexists(path):
        raise SplitRewriteError(f"{os.fspath(path)}: exists, and no file is to be replaced (no-clobber)")


def different_path(path: Path_) -> Path:
    """Where a result is kept that fails its comparison: out.different.onnx beside `path`, out.onnx."""
    path = Path(path)
    ending = "".join(path.suffixes[-2:]) if path.suffix == PACKED else path.suffix
    return path.with_name(f"{path.name.removesuffix(ending)}.different{ending}")


Place = tuple[int, int, str]
Identity = tuple[int, int] | Place


def identity_of(path: Path_ | int) -> Identity:
    """A key that is equal for all paths to the same file, and for its descriptors.

    For an existing file, it consists of device and inode; for a future file, it is its place.
    """
    with suppress(OSError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return (0, 0, str(path)) if isinstance(path, int) else place_of(path)


def place_of(path: Path_) -> Place:
    """A key that is equal for all paths to one name in one folder, whether or not there is a file or a folder.

    It consists of the device and inode of the nearest folder that exists, and the path from there without letter case and Unicode
    normalization, which some file systems ignore.
    """
    folder, name = os.path.split(os.path.realpath(path))
    names = [name]
    while True:
        with suppress(OSError):
            status = os.stat(folder)
            return status.st_dev, status.st_ino, unicodedata.normalize("NFC", "/".join(reversed(names))).casefold()
        parent, name = os.path.split(folder)
        if parent == folder:
            return 0, 0, unicodedata.normalize("NFC", os.path.realpath(path)).casefold()
        folder = parent
        names.append(name)


class Destination(NamedTuple):
    """The place where a file is to be written: `given` is the user's path, `path` the target if that is a symbolic link."""

    given: Path
    path: Path

    @property
    def folder(self) -> Path:
        """The folder that the file is in."""
        return self.path.parent

    @property
    def is_in_other_folder(self) -> bool:
        """Whether `given` is a link to a file in another folder."""
        return not os.path.samefile(self.given.parent, self.folder)

    @classmethod
    def of(cls, path: Path_) -> Destination:
        """The destination for `path`. Raises SplitRewriteError where no file can be written there."""
        given = Path(path)
        with explained(given):
            found = cls(given, Path(os.path.realpath(given)) if given.is_symlink() else given)
            found._check()
        return found

    def _check(self) -> None:
        """Raises SplitRewriteError where no file can be written to this path."""
        if not self.given.name or self.path.is_dir():
            raise SplitRewriteError(f"{self.given}: is a folder; name the file to write")
        if not self.folder.is_dir():
            raise SplitRewriteError(f"{self.given}: the folder {self.folder} does not exist")
        if is_special(self.given):
            raise SplitRewriteError(f"{self.given}: exists and is not a regular file")
        if self.path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _require_access(self.folder, os.W_OK | os.X_OK)
        if self.path.exists():
            _require_access(self.path, os.W_OK)


def is_special(path: Path) -> bool:
    """Whether `path` exists and is not a regular file, or is a link to something else, as /dev/stdout may be."""
    try:
        if path.is_symlink() and os.readlink(path).startswith("/proc/"):
            return True
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _require_access(path: Path, mode: int) -> None:
    """Raises SplitRewriteError where this process does not have access of `mode` to `path`."""
    if not os.access(path, mode, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def explained(path: Path_) -> Iterator[None]:
    """Turn an OSError inside a `with` into a SplitRewriteError that says that `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise SplitRewriteError(f"{path}: cannot be written: {error.strerror or error}") from error


def temporary_path(folder: Path, suffix: str) -> Path:
    """A path in `folder` that no file has."""
    return folder / f".split-rewrite-{os.urandom(8).hex()}{suffix}"


def create(path: Path, like: Path) -> int:
    """Create the file `path`, with the permissions of `like` if that exists. Returns a descriptor for writing.

    Raises FileExistsError where something exists at `path`, and OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with suppress(FileNotFoundError):
        os.chmod(path, stat.S_IMODE(os.stat(like).st_mode))
    return descriptor


def write_text(text: str, path: Path_) -> None:
    """Write `text` to `path`, completely or not at all. Characters that UTF-8 cannot express are escaped.

    Raises SplitRewriteError.
    """
    write_bytes(text.encode("utf-8", "backslashreplace"), path)


def write_bytes(data: bytes, path: Path_) -> None:
    """Write `data` to `path`, completely or not at all. Raises SplitRewriteError."""
    destination = Destination.of(path)
    temporary = temporary_path(destination.folder, ".tmp")
    try:
        with explained(path):
            with open(create(temporary, destination.path), "wb") as file:
                file.write(data)
            os.replace(temporary, destination.path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
