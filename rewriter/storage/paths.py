"""Which files a conversion reads and writes: all different ones, and all writable, which is known before any work is done."""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import PathConflictError, SplitRewriteError

INPUT, OUTPUT, REPORT, STDOUT = "INPUT", "OUTPUT", "a report", "the text on standard output"
DATA_OF_INPUT, INPUT_DATA = "the external data of INPUT", "a file of --input-data"

Path_ = str | os.PathLike[str]


class NamedFile(NamedTuple):
    """A file, and the role that messages name it by; `descriptor` is given where it is open already."""

    role: str
    path: Path_
    descriptor: int | None = None


def check_apart(source: Path_, output: Path_ | None, data: Iterable[Path_], others: Iterable[NamedFile]) -> None:
    """Check that no file that is written is one that is read, or another one that is written, whatever their names.

    `data` is the external data of `source`; `others` are files of --input-data, reports and standard output; `output`, None
    where no model is written, may be `source`, unless that is its own external data.
    Raises: PathConflictError; SplitRewriteError where a file cannot be written.
    """
    others = list(others)
    read = [NamedFile(INPUT, source), *(NamedFile(DATA_OF_INPUT, path) for path in data)]
    read += [file for file in others if file.role == INPUT_DATA]
    written = [] if output is None else [NamedFile(OUTPUT, output)]
    written += [file for file in others if file.role != INPUT_DATA]
    known = {identity_of(file.path): file for file in read}
    for file in written:
        identity = identity_of(file.path if file.descriptor is None else file.descriptor)
        other = known.get(identity)
        if other is not None and (file.role, other.role) != (OUTPUT, INPUT):
            raise PathConflictError(f"{file.path}: {file.role} would replace {other.role}, {other.path}; choose another name")
        known[identity] = file
    for file in written:
        if file.descriptor is None:
            check_destination(file.path)


def check_destination(path: Path_) -> None:
    """Raises SplitRewriteError where no file can be written to `path`; cheap, so that nobody works for nothing."""
    Destination.of(path)


def identity_of(path: Path_ | int) -> tuple[int, int] | tuple[int, int, str]:
    """What paths to one file, or descriptors of it, have in common.

    That is device and inode; of a file still to be made, those of its folder, and its name. Such names are told apart
    without regard to case and Unicode normalization, as some file systems do.
    """
    with suppress(OSError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    if isinstance(path, int):
        return 0, 0, str(path)
    folder, name = os.path.split(os.path.realpath(path))
    plain = unicodedata.normalize("NFC", name).casefold()
    with suppress(OSError):
        status = os.stat(folder)
        return status.st_dev, status.st_ino, plain
    return 0, 0, os.path.join(folder, plain)


class Destination(NamedTuple):
    """Where a file is to be written: `given` is what the user calls it, `path` what that leads to if it is a symbolic link."""

    given: Path
    path: Path

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def is_in_other_folder(self) -> bool:
        """Whether `given` is a link to a file in another folder than its own."""
        return not os.path.samefile(self.given.parent, self.folder)

    @classmethod
    def of(cls, path: Path_) -> Destination:
        """Raises: SplitRewriteError where no file can be written to `path`."""
        given = Path(path)
        with explained(given):
            is_special = _is_special(given)
            found = cls(given, Path(os.path.realpath(given)) if given.is_symlink() else given)
            found._check(is_special)
        return found

    def _check(self, is_special: bool) -> None:
        if not self.given.name or self.path.is_dir():
            raise SplitRewriteError(f"{self.given}: is a folder; name the file to write")
        if not self.folder.is_dir():
            raise SplitRewriteError(f"{self.given}: the folder {self.folder} does not exist")
        if is_special:
            raise SplitRewriteError(f"{self.given}: exists and is not a regular file")
        if self.path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _require_access(self.folder, os.W_OK | os.X_OK)
        if self.path.exists():
            _require_access(self.path, os.W_OK)


def _is_special(path: Path) -> bool:
    """Whether `path` is there and no file, or, like /dev/stdout, a link to what is none."""
    try:
        if path.is_symlink() and os.readlink(path).startswith("/proc/"):
            return True
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _require_access(path: Path, mode: int) -> None:
    if not os.access(path, mode, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def explained(path: Path_) -> Iterator[None]:
    """An OSError becomes a SplitRewriteError that says that `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise SplitRewriteError(f"{path}: cannot be written: {error.strerror or error}") from error


def temporary_path(folder: Path, suffix: str) -> Path:
    """A name in `folder` that nothing has."""
    return folder / f".split-rewrite-{os.urandom(8).hex()}{suffix}"


def create(path: Path, like: Path) -> int:
    """Make a new file at `path`, with the permissions of `like` if that exists; its descriptor, for writing.

    Raises: FileExistsError where anything is at `path`; OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with suppress(FileNotFoundError):
        os.chmod(path, stat.S_IMODE(os.stat(like).st_mode))
    return descriptor


def write_text(text: str, path: Path_) -> None:
    """Write `text` to `path`, whole or not at all; what UTF-8 cannot say is escaped. Raises: SplitRewriteError."""
    destination = Destination.of(path)
    temporary = temporary_path(destination.folder, ".tmp")
    try:
        with explained(path):
            with open(create(temporary, destination.path), "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            os.replace(temporary, destination.path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
