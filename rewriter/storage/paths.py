"""Checks the paths of a conversion before any work: all files have to be different ones, and the results have to be writable."""

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
"""How messages name the files."""
DATA_OF_INPUT, INPUT_DATA = "the external data of INPUT", "a file of --input-data"

Path_ = str | os.PathLike[str]


class NamedFile(NamedTuple):
    """A file, and how messages name it. `descriptor` is set if the file is open already."""

    role: str
    path: Path_
    descriptor: int | None = None


def check_apart(source: Path_, output: Path_ | None, data: Iterable[Path_], others: Iterable[NamedFile]) -> None:
    """Check that no file that is written is also read or written under another name.

    `data` is the external data of `source`; `others` are files of --input-data, reports and standard output. `output`, None where
    no model is written, may be `source`, but not its external data. Raises PathConflictError, and SplitRewriteError where a file
    cannot be written.
    """
    others = list(others)
    read = [NamedFile(INPUT, source), *(NamedFile(DATA_OF_INPUT, path) for path in data)]
    read += [file for file in others if file.role == INPUT_DATA]
    written = [] if output is None else [NamedFile(OUTPUT, output)]
    written += [file for file in others if file.role != INPUT_DATA]
    check_different(read, written)
    for file in written:
        if file.descriptor is None:
            check_destination(file.path)


def check_different(read: Iterable[NamedFile], written: Iterable[NamedFile]) -> None:
    """Check that the files of `written` differ from each other and from those of `read`; only the result may replace its own input.

    A report whose path is a link could replace a data file, so the link has to lead to a name with the ending of a report.
    Raises: PathConflictError.
    """
    known = {identity_of(file.path): file for file in read}
    for file in written:
        identity = identity_of(file.path if file.descriptor is None else file.descriptor)
        other = known.get(identity)
        if other is not None and (file.role, other.role) != (OUTPUT, INPUT):
            raise PathConflictError(f"{file.path}: {file.role} would replace {other.role}, {other.path}; choose another name")
        if file.role == REPORT:
            _require_name_of_report(file.path)
        known[identity] = file


def _require_name_of_report(path: Path_) -> None:
    """Raises PathConflictError where `path` is a link to a name with another ending, even if no such file exists yet."""
    if not os.path.islink(path) or _is_special(Path(path)):
        return
    ending, real = os.path.splitext(path)[1], os.path.splitext(os.path.realpath(path))[1]
    if real.lower() != ending.lower():
        raise PathConflictError(f"{path}: is a link to {os.readlink(path)}, which is no {ending} file; choose another name")


def check_destination(path: Path_) -> None:
    """Raises SplitRewriteError where no file can be written to `path`. The check is cheap and saves computing a result in vain."""
    Destination.of(path)


def identity_of(path: Path_ | int) -> tuple[int, int] | tuple[int, int, str]:
    """A key that is equal for all paths to the same file, and for its descriptors.

    For an existing file, it consists of device and inode. For a future file, it consists of those of its folder, and its name
    without letter case and Unicode normalization, which some file systems ignore.
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
            is_special = _is_special(given)
            found = cls(given, Path(os.path.realpath(given)) if given.is_symlink() else given)
            found._check(is_special)
        return found

    def _check(self, is_special: bool) -> None:
        """Raises SplitRewriteError where no file can be written to this path."""
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
