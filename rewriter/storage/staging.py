"""Writes a model beside its destination, and moves it there in one step.

This step is the renaming of the model file. A data file gets its final name at once, a name that no other file has, so that no
model refers to it before that step, and everything that the old model refers to stays. Only temporary files are ever removed.
"""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import IO

from .. import calls, progress
from ..errors import InvalidModelError, SplitRewriteError
from . import wire
from .data_files import DataFiles
from .foreign_tensors import ForeignTensors
from .layout import PAGE, Layout, lay_out
from .paths import PACKED, Destination, Path_, create, explained, identity_of, temporary_path
from .payload import Payload
from .reading import data_locations
from .skeleton import Skeleton
from .source_file import SourceFile, data_file
from .widened import WidenedPayload

_BUFFER = 1 << 18  # bytes; a larger one leaves the processor's cache on the way
_KERNEL_COPY = (1 << 31) - PAGE  # bytes, the most that Linux copies at once; in calls of 256 MiB 4 GB took 1.5 times as long
_SHOWN = 1 << 28  # bytes whose copying may take a while
_SYNC = os.O_RDWR if os.name == "nt" else os.O_RDONLY  # Windows syncs only what is open for writing
_KERNEL_CANNOT_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
"""The errors after which this process copies the bytes itself."""


class Staged:
    """A complete model file at `path`, beside its destination, and its data file, if it has one.

    `notes` are sentences about data files that the user has to know, and `data_files` are those that the result needs. As a context
    manager, it removes the files unless they were committed.
    """

    def __init__(self, skeleton: Skeleton, destination: Destination) -> None:
        self.path = temporary_path(destination.folder, ".onnx")
        self.notes: list[str] = []
        self.data_files: DataFiles | None = None
        self._skeleton = skeleton
        self._destination = destination
        self._old_locations = _data_locations(destination.path)
        self._new_data: Path | None = None

    def pack(self) -> None:
        """Compress the model file, if the name of its destination ends with .gz: whoever reads such a file unpacks it."""
        if not is_packed(self._destination.given):
            return
        packed = temporary_path(self._destination.folder, PACKED)
        try:
            with (
                explained(self._destination.given),
                open(self.path, "rb") as model,
                open(create(packed, self._destination.path), "wb") as out,
                gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file,  # the same bytes each time
            ):
                shutil.copyfileobj(model, file, _BUFFER)
            os.replace(packed, self.path)
        finally:
            with suppress(OSError):
                packed.unlink(missing_ok=True)

    def commit(self) -> None:
        """Move the model to its destination. At any moment, a reader finds there either the old model or the new one, complete.

        If an old model is replaced, the new one is first forced to the disk, so that one of them survives a power cut. A new file
        is only as safe as a copy, because waiting for the disk takes twice as long as copying. Raises SplitRewriteError where the
        disk reports an error, and InvalidModelError where an input would be replaced that has changed meanwhile.
        """
        path, folder = self._destination.path, self._destination.folder
        with explained(self._destination.given):
            if not path.exists():
                os.replace(self.path, path)
                return
            if self._new_data is not None:
                _sync(self._new_data)
                _sync(folder)
            _sync(self.path)
            self._require_same_input()
            os.replace(self.path, path)
            _sync(folder)

    def _require_same_input(self) -> None:
        """Raises InvalidModelError where the input is to be replaced but has changed, so that the change would be lost."""
        file = self._skeleton.file
        if isinstance(file, SourceFile) and self._is_in_place():
            with file.opened():
                pass

    def _is_in_place(self) -> bool:
        """Whether the model file was renamed to its final name."""
        source = self._skeleton.path
        return source is not None and identity_of(source) == identity_of(self._destination.path)

    def discard(self) -> None:
        """Remove the written files, unless they were committed: then the model file has its final name, and
        the data file is in use.
        """
        if not os.path.lexists(self.path):
            return
        for file in (self._new_data, self.path):
            if file is not None:
                with suppress(OSError):
                    file.unlink()

    def __enter__(self) -> Staged:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.discard()

    def _write(self, external_data: str) -> None:
        """Write the files. The temporary model file is created first: as long as it exists, nothing was committed."""
        name = usual = next(data_names(self._destination.path.name))
        layout = self._lay_out(external_data, usual)
        with explained(self._destination.given), open(create(self.path, self._destination.path), "wb", buffering=_BUFFER) as out:
            if layout.data:
                name = self._write_data(layout)
            if name != usual:
                layout = self._lay_out(external_data, name)
                self.notes.append(f"the data is in {name}, because {usual} exists and may be needed by another model")
            _write(out, layout.source, layout.model)
        self.data_files = self._needed_data(layout, name)
        self._note_unneeded_data(layout, name)

    def _needed_data(self, layout: Layout, data_name: str) -> DataFiles | None:
        """The files that the result needs; a result that keeps data in the files of the input adds none to them."""
        if layout.data:
            return DataFiles((data_name,), wire.length_of(layout.data), is_new=True)
        kept = [path for path in self._skeleton.data_paths if identity_of(path) in layout.kept]
        names = tuple(os.path.relpath(path, self._destination.folder) for path in kept)
        return DataFiles(names, sum(path.stat().st_size for path in kept), is_new=False) if kept else None

    def _lay_out(self, external_data: str, data_name: str) -> Layout:
        """Plan the files, with the data file under `data_name`."""
        destination, base_dir = self._destination, self._skeleton.base_dir
        is_same_folder = base_dir is not None and base_dir.is_dir() and os.path.samefile(base_dir, destination.folder)
        layout = lay_out(self._skeleton, external_data, data_name, is_same_folder)
        if (layout.data or layout.kept) and destination.is_in_other_folder:
            raise SplitRewriteError(
                f"{destination.given}: is a link into another folder, and runtimes look for data files beside the link; "
                f"name {destination.path}"
            )
        return layout

    def _write_data(self, layout: Layout) -> str:
        """Write the data file and return its name.

        The name is a new one, or that of the old model's data file if the data is the same.
        """
        name = ""
        for name in data_names(self._destination.path.name):
            if name in self._old_locations and self._is_there(name, layout):
                break
            path = self._destination.folder / name
            with suppress(FileExistsError):
                descriptor = create(path, self._destination.path)
                self._new_data = path
                with open(descriptor, "wb", buffering=_BUFFER) as out:
                    _write(out, layout.source, layout.data)
                break
        return name

    def _is_there(self, name: str, layout: Layout) -> bool:
        """Whether the file `name` already contains the data of `layout`."""
        with suppress(InvalidModelError):
            return _contains(data_file(self._destination.folder, name), layout.source, layout.data)
        return False

    def _note_unneeded_data(self, layout: Layout, data_name: str) -> None:
        """Note the data files of the old model that the new one does not use. They stay, because other models may use them."""
        folder = self._destination.folder
        in_use = [folder / data_name] if layout.data else []
        in_use += [] if self._is_in_place() else self._skeleton.data_paths
        needed = layout.kept | {identity_of(path) for path in in_use}
        for location in sorted(self._old_locations):
            path = folder / location
            if path.is_file() and identity_of(path) not in needed:
                self.notes.append(
                    f"{self._destination.given.name} no longer needs {location}, which may be needed by another model"
                )


def stage(skeleton: Skeleton, path: Path_, external_data: str = "auto") -> Staged:
    """Write `skeleton` with all its payloads beside `path`; `commit` of the result moves it there.

    `external_data` says where payloads go:
    - "keep": external data stays where it is and is referenced, which needs `path` in the folder of the input;
    - "copy": external data is copied to the data file, `<path>.data`;
    - "inline": external data goes into the model file;
    - "split" or "split:BYTES": every tensor of that size (default 1024) or more goes to the data file, wherever it was, and all
      others into the model file. So do always: strings, packed integers (like `int32_data`), int64 vectors of up to 64 KiB, and
      tensors in places where `onnx.load` reads no external data, such as sparse tensors;
    - "auto": "keep" in the same folder, else "copy"; but "split" if the model file would pass 2 GiB, and "inline" if `path` ends
      with .gz.
    The model at `path` is replaced; if that is a symbolic link, the file that it points to. Data files are never replaced: where
    `<path>.data` exists, the data goes to `<path>.1.data` and so on, unless the replaced model has the same data there. Raises
    InvalidModelError if a payload is missing, unsafe or of the wrong length, and SplitRewriteError if `path` cannot be written;
    nothing is left behind then.
    """
    staged = Staged(skeleton, Destination.of(path))
    try:
        staged._write("inline" if external_data == "auto" and is_packed(path) else external_data)
    except BaseException:
        staged.discard()
        raise
    return staged


def is_packed(path: Path_) -> bool:
    """Whether a model at `path` is compressed with gzip, as its name says."""
    return os.fspath(path).endswith(PACKED)


def data_names(model: str) -> Iterator[str]:
    """Names for the data file of the model file `model`: the usual one, then others for the case that it is in use."""
    yield f"{model}.data"
    yield from (f"{model}.{number}.data" for number in count(1))


def _data_locations(model: Path) -> frozenset[str]:
    """The locations of external data of the model file `model`; none where there is no such model."""
    with suppress(InvalidModelError, OSError):
        return data_locations(model)
    return frozenset()


def _contains(file: SourceFile, source: wire.Source, pieces: Sequence[bytes | wire.Piece]) -> bool:
    """Whether the content of `file` is exactly `pieces`, one after the other. Raises InvalidModelError where one cannot be read."""
    if file.size != wire.length_of(pieces):
        return False
    position = 0
    for piece in _joined(pieces):
        length = wire.length_of([piece])
        if piece != Payload(file, position, length) and not _is_at(file, position, source, piece):
            return False
        position += length
    return True


def _is_at(file: SourceFile, position: int, source: wire.Source, piece: bytes | wire.Piece) -> bool:
    """Whether `file` contains `piece` at `position`."""
    for part in _parts(source, piece):
        if file.read(position, len(part)) != part:
            return False
        position += len(part)
    return True


def _parts(source: wire.Source, piece: bytes | wire.Piece) -> Iterator[bytes]:
    """The bytes of `piece`, one buffer at a time."""
    if isinstance(piece, bytes):
        yield piece
    elif isinstance(piece, wire.Span):
        for start in range(piece.start, piece.stop, _BUFFER):
            yield source.read(start, min(start + _BUFFER, piece.stop))
    elif isinstance(piece, WidenedPayload):
        yield from piece.parts()
    elif isinstance(piece, Payload) and isinstance(piece.file, ForeignTensors):
        yield from piece.file.pieces(piece.offset, piece.length)
    elif isinstance(piece, Payload):
        for start in range(0, piece.length, _BUFFER):
            yield piece.raw_range(start, min(start + _BUFFER, piece.length)).read()


def _write(out: IO[bytes], source: wire.Source, pieces: Sequence[bytes | wire.Piece]) -> None:
    """Write `pieces`, one after the other, to `out`."""
    for piece in _joined(pieces):
        if isinstance(piece, Payload) and isinstance(piece.file, SourceFile):
            out.flush()
            with piece.file.opened() as descriptor:
                _copy_range(descriptor, piece.offset, piece.length, out.fileno())
        else:
            out.writelines(_parts(source, piece))


def _joined(pieces: Sequence[bytes | wire.Piece]) -> list[bytes | wire.Piece]:
    """The same pieces, with payloads that follow each other in the same file joined."""
    joined: list[bytes | wire.Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, Payload) and isinstance(last, Payload) and piece.follows(last):
            joined[-1] = Payload(last.file, last.offset, last.length + piece.length)
        else:
            joined.append(piece)
    return joined


def _copy_range(source: int, offset: int, length: int, out: int) -> None:
    """Copy `length` bytes at `offset` of the descriptor `source` to the descriptor `out`."""
    # The kernel shares what lies on pages alike; bytes that it has to move to another place in the page take it 1.5 times as long.
    is_alike = (os.lseek(out, 0, os.SEEK_CUR) - offset) % PAGE == 0
    copy = _copy_in_kernel if is_alike and hasattr(os, "copy_file_range") else _copy_buffered
    advance = progress.begin("copying", length) if length > _SHOWN else None
    at_once = _SHOWN if progress.is_shown() or calls.is_watched() else _KERNEL_COPY
    while length:
        calls.beat()
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
    """Let the kernel copy as much as it can. Returns the number of bytes copied."""
    return os.copy_file_range(source, out, length, offset)


def _copy_buffered(source: int, offset: int, length: int, out: int) -> int:
    """Copy through a buffer. Returns the number of bytes copied."""
    return os.write(out, wire.read_at(source, min(length, _BUFFER), offset))


def _sync(path: Path) -> None:
    """Wait until the file or folder at `path` is on the disk."""
    try:
        descriptor = os.open(path, _SYNC)
    except PermissionError:
        if path.is_dir():  # Windows opens no folders
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
