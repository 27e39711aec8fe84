"""Writes a model beside the place where it will be, and puts it there in one step."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

from .. import progress
from ..errors import InvalidModelError, SplitRewriteError
from . import wire
from .layout import PAGE, DataName, Layout, lay_out
from .payload import ForeignTensors, Payload, model_file
from .reading import read
from .skeleton import Skeleton

_BUFFER = 1 << 18  # bytes; a larger one leaves the processor's cache on the way
_KERNEL_COPY = (1 << 31) - PAGE  # bytes, the most that Linux copies at once; in calls of 256 MiB 4 GB took 1.5 times as long
_SHOWN = 1 << 28  # bytes whose copying may take a while
_KERNEL_CANNOT_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}


class _Target(NamedTuple):
    """Where the result goes: the model, and the data file if there is one."""

    path: Path

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def data(self) -> Path:
        return self.path.with_name(f"{self.path.name}.data")

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> _Target:
        target = cls(Path(path))
        with _explained(target.path):
            target.check()
        return target

    def check(self) -> None:
        if not self.path.name or self.path.is_dir():
            raise SplitRewriteError(f"{self.path}: is a folder; name the file to write")
        if not self.folder.is_dir():
            raise SplitRewriteError(f"{self.path}: the folder {self.folder} does not exist")
        for file in (self.path, self.data):
            if _is_special(file):
                raise SplitRewriteError(f"{file}: exists and is not a regular file")

    def is_in(self, folder: Path | None) -> bool:
        return folder is not None and folder.is_dir() and os.path.samefile(folder, self.folder)

    def replaces(self, model: Path | None) -> bool:
        """Whether `model` is the very directory entry that the result will take."""
        return model is not None and model.name == self.path.name and self.is_in(model.parent)


def _is_special(path: Path) -> bool:
    """Whether `path` is there and no file, or, like /dev/stdout, a link to what is none."""
    try:
        if path.is_symlink() and os.readlink(path).startswith("/proc/"):
            return True
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


class Staged:
    """A complete model file at `path`, beside the place where it will be.

    A context manager that discards what was not committed.
    """

    def __init__(self, target: _Target, data_name: str) -> None:
        self.path = _temporary_path(target.folder, ".onnx")
        self._target = target
        self._data = target.folder / data_name
        self._name_positions: list[int] = []
        self._stale: Path | None = None
        self._replaces = True
        self._temporary: list[Path] = []

    def commit(self) -> None:
        """Put the model in its place. Whoever looks there at any moment finds the old model or the new one, whole.

        What takes the place of an old model is on the disk before, so that a power cut leaves one of them, too; a new file is as
        safe as a copy (waiting for the disk takes twice as long as copying).
        Raises: SplitRewriteError if the disk does not take it.
        """
        self._replaces = os.path.lexists(self._target.path)
        with _explained(self._target.path):
            self._sync(self.path)
            if self._data not in self._temporary:
                os.replace(self.path, self._target.path)
            elif os.path.lexists(self._target.data):
                self._commit_over_old_data()
            else:
                self._commit_with_data()
            self._sync(self._target.folder)
            self._temporary.clear()
            if self._stale is not None:
                self._stale.unlink(missing_ok=True)

    def _commit_with_data(self) -> None:
        """Nothing refers to the place of the data file yet, so the data goes there first."""
        self._put_final_name(self.path)
        self._sync(self._data)
        os.rename(self._data, self._target.data)
        self._temporary.append(self._target.data)
        self._sync(self._target.folder)
        os.replace(self.path, self._target.path)

    def _commit_over_old_data(self) -> None:
        """The old model needs the old data until the new model is in place. So that comes first, with its data under a
        temporary name; then its data under the final name; then the model that refers to that.

        For an instant the data has two names, hard links. Runtimes do not mind; onnx does, and refuses to load such data.
        """
        renamed, linked = _temporary_path(self._target.folder, ".onnx"), _temporary_path(self._target.folder, ".data")
        self._temporary += [renamed, linked]
        _duplicate(self.path, renamed)
        self._put_final_name(renamed)
        self._sync(self._data)
        os.replace(self.path, self._target.path)
        self._temporary.remove(self._data)
        self._sync(self._target.folder)
        _link(self._data, linked)
        os.replace(linked, self._target.data)
        os.replace(renamed, self._target.path)
        os.unlink(self._data)

    def _put_final_name(self, model: Path) -> None:
        """Write the final name of the data file over the temporary one, which has as many bytes."""
        with open(model, "r+b") as file:
            for position in self._name_positions:
                file.seek(position)
                file.write(self._target.data.name.encode())
        self._sync(model)

    def _sync(self, path: Path) -> None:
        if self._replaces:
            _sync(path)

    def discard(self) -> None:
        """Remove what is staged and was not committed."""
        for file in self._temporary:
            with suppress(OSError):
                file.unlink()
        self._temporary.clear()

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.discard()

    def _write(self, layout: Layout) -> None:
        with _explained(self._target.path):
            if layout.data:
                self._temporary.append(self._data)
                _write(self._data, layout.source, layout.data, self._target.data)
            self._temporary.append(self.path)
            self._name_positions = _write(self.path, layout.source, layout.model, self._target.path)


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raises SplitRewriteError where no model can be written to `path`; cheap, so that nobody works for nothing."""
    _Target.of(path)


def stage(skeleton: Skeleton, path: str | os.PathLike[str], external_data: str = "auto") -> Staged:
    """Write `skeleton` with all its payloads beside `path`; `commit` of the result puts it there.

    `external_data` says where payloads go:
    - "keep": external data stays where it is and is referenced, which needs `path` in the folder of the input;
    - "copy": external data is copied to `<path>.data`;
    - "inline": external data goes into the model file;
    - "split" or "split:BYTES": every tensor of that size (default 1024) or more goes to `<path>.data`, wherever it was,
      and all others into the model file, as do always: strings, packed integers (like `int32_data`), int64 vectors of up
      to 64 KiB, and tensors in places where `onnx.load` reads no external data, such as sparse tensors;
    - "auto": "keep" in the same folder, else "copy"; but "split" if the model file would pass 2 GiB.
    Whatever is at `path` is replaced, a link too; what a link points to is not touched.
    Raises: InvalidModelError if a payload is missing, unsafe or misfits, and SplitRewriteError if `path` cannot be
    written; nothing is left behind then.
    """
    target = _Target.of(path)
    data_name = _data_name_like(target.data)
    layout = lay_out(skeleton, external_data, data_name, target.is_in(skeleton.base_dir))
    if layout.data:
        _protect_input(skeleton, target)
    staged = Staged(target, data_name)
    try:
        staged._write(layout)
        staged._stale = None if layout.data else _stale_data(skeleton, target, layout)
    except BaseException:
        staged.discard()
        raise
    return staged


def _data_name_like(final: Path) -> str:
    """A name with as many bytes as that of `final`, so that one can be written over the other."""
    try:
        length = len(final.name.encode())
    except UnicodeEncodeError:
        raise SplitRewriteError(f"{final}: the name is not valid Unicode, which a data file needs") from None
    return f".{os.urandom(16).hex()}".ljust(length, "0")[:length]


def _temporary_path(folder: Path, suffix: str) -> Path:
    return folder / f".split-rewrite-{os.urandom(8).hex()}{suffix}"


def _protect_input(skeleton: Skeleton, target: _Target) -> None:
    """Raises: SplitRewriteError if the result's data file would take the place of a file that the input consists of."""
    if target.replaces(skeleton.path) or not target.data.exists():
        return
    original = skeleton if skeleton.path is None else read(skeleton.path)
    is_model = skeleton.path is not None and os.path.samefile(skeleton.path, target.data)
    if is_model or original.refers_to(target.data):
        raise SplitRewriteError(f"{target.data}: belongs to the input; write the result under another name")


def _stale_data(skeleton: Skeleton, target: _Target, layout: Layout) -> Path | None:
    """The data file of the model that is being replaced, if nothing needs it any more."""
    if not (target.path.exists() and target.data.exists()):
        return None
    status = os.stat(target.data)
    if (status.st_dev, status.st_ino) in layout.kept:
        return None
    try:
        if not read(target.path).refers_to(target.data):
            return None
        _protect_input(skeleton, target)
    except SplitRewriteError:
        return None
    return target.data


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SplitRewriteError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write(path: Path, source: wire.Source, pieces: Sequence[bytes | wire.Piece], like: Path) -> list[int]:
    """Write `pieces` to a new file, with the permissions of `like` if that exists; the positions of the DataNames."""
    names: list[int] = []
    position = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with open(descriptor, "wb", buffering=_BUFFER) as out:
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(like).st_mode))
        for piece in _joined(pieces):
            if isinstance(piece, DataName):
                names.append(position)
            _write_piece(out, source, piece)
            position += wire.length_of([piece])
    return names


def _joined(pieces: Sequence[bytes | wire.Piece]) -> list[bytes | wire.Piece]:
    """The same, with payloads that follow each other in their file as one."""
    joined: list[bytes | wire.Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, Payload) and isinstance(last, Payload) and piece.follows(last):
            joined[-1] = Payload(last.file, last.offset, last.length + piece.length)
        else:
            joined.append(piece)
    return joined


def _write_piece(out: IO[bytes], source: wire.Source, piece: bytes | wire.Piece) -> None:
    if isinstance(piece, bytes):
        out.write(piece)
    elif isinstance(piece, wire.Span):
        for start in range(piece.start, piece.stop, _BUFFER):
            out.write(source.read(start, min(start + _BUFFER, piece.stop)))
    elif isinstance(piece, Payload):
        _write_payload(out, piece)


def _write_payload(out: IO[bytes], piece: Payload) -> None:
    if isinstance(piece.file, ForeignTensors):
        out.writelines(piece.file.pieces(piece.offset, piece.length))
    else:
        out.flush()
        with piece.file.opened() as descriptor:
            _copy_range(descriptor, piece.offset, piece.length, out.fileno())


def _copy_range(source: int, offset: int, length: int, out: int) -> None:
    # The kernel shares what lies on pages alike; bytes that it has to move to another place in the page take it 1.5 times as long.
    is_alike = (os.lseek(out, 0, os.SEEK_CUR) - offset) % PAGE == 0
    copy = _copy_in_kernel if is_alike and hasattr(os, "copy_file_range") else _copy_buffered
    advance = progress.begin("copying", length) if length > _SHOWN else None
    at_once = _SHOWN if progress.is_shown() else _KERNEL_COPY
    while length:
        try:
            copied = copy(source, offset, min(length, at_once), out)
        except OSError as error:
            if copy is _copy_buffered or error.errno not in _KERNEL_CANNOT_COPY:
                raise
            copy, copied = _copy_buffered, 0
            continue
        if not copied:
            raise InvalidModelError("a data file became shorter while it was being copied")
        offset += copied
        length -= copied
        if advance is not None:
            advance(copied)


def _copy_in_kernel(source: int, offset: int, length: int, out: int) -> int:
    return os.copy_file_range(source, out, length, offset)


def _copy_buffered(source: int, offset: int, length: int, out: int) -> int:
    return os.write(out, os.pread(source, min(length, _BUFFER), offset))


def _duplicate(source: Path, copy: Path) -> None:
    file = model_file(source)
    _write(copy, wire.MemorySource(b""), [Payload(file, 0, file.size)], source)


def _link(source: Path, link: Path) -> None:
    try:
        os.link(source, link)
    except OSError:  # not every file system has hard links
        _duplicate(source, link)
        _sync(link)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
