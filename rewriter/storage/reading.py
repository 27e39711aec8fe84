"""Reads the skeleton of a model file: every large payload is cut out before protobuf parses the model."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from ..errors import InvalidModelError
from . import wire
from .foreign_formats import foreign_format
from .payload import CUT_FIELDS, CUT_FROM, DATA_FIELDS, LOCATION_KEY, MARK, is_external, is_kept, refer_to_cut
from .skeleton import LARGEST_PROTOBUF, Skeleton
from .source_file import SourceFile, model_file
from .spool import SpooledFile

PARSED_WHOLE = 1 << 23  # bytes; parsing a file of this size takes less time than looking for what to cut


def read(path: str | os.PathLike[str]) -> Skeleton:
    """Read the model at `path`, a binary ONNX file, without its large payloads.

    In a file of more than 8 MiB, tensors of 4 KiB or more stay on disk, except int64 vectors of up to 64 KiB, which may be sizes,
    shapes or axes. Raises InvalidModelError with one line that names the file.
    """
    file = model_file(path)
    if file.size == 0:
        raise InvalidModelError(f"{file.name}: is empty")
    try:
        data = _without_payloads(file)
        proto = _parse(data)
        locations = _locations(data)
    except wire.MalformedError as error:
        reason = foreign_format(file) or f"is corrupt or not an ONNX model: {error}"
        raise InvalidModelError(f"{file.name}: {reason}") from error
    except OSError as error:
        raise InvalidModelError(f"{file.name}: cannot be read: {error.strerror}") from error
    if not proto.HasField("graph"):
        raise InvalidModelError(f"{file.name}: {foreign_format(file) or 'has no graph, so it is not an ONNX model'}")
    base_dir = None if isinstance(path, SpooledFile) else Path(path).parent
    return Skeleton(proto, file, base_dir, locations)


def data_locations(path: str | os.PathLike[str]) -> frozenset[str]:
    """The locations of external data in the model at `path`. Raises InvalidModelError where it is not a model."""
    return _locations(_without_payloads(model_file(path)))


def _without_payloads(file: SourceFile) -> bytes:
    """The serialized skeleton of the file. Raises InvalidModelError and OSError."""
    with file.opened() as descriptor:
        source = wire.FileSource(descriptor, file.size)
        if file.size <= PARSED_WHOLE:
            data, cuts = source.read(0, file.size), 0
        else:
            data, cuts = _cut(source, file.name)
    if data.count(MARK.encode()) != cuts:
        raise InvalidModelError(f"{file.name}: has external data at the location {MARK!r}, which is reserved")
    return data


def _parse(data: bytes) -> ModelProto:
    """The model in `data`. Raises InvalidModelError where it is malformed."""
    try:
        return ModelProto.FromString(data)
    except DecodeError as error:
        wire.rewrite(wire.MemorySource(data), {}, minimum=0)  # knows better what is wrong
        raise wire.MalformedError(str(error)) from error


def _locations(data: bytes) -> frozenset[str]:
    """The locations of external data in a serialized skeleton, as far as its tensors can be read."""
    found: set[str] = set()

    def note(source: wire.Source, start: int, stop: int, path: wire.MessagePath) -> None:
        with suppress(DecodeError):
            tensor = TensorProto.FromString(source.read(start, stop))
            if is_external(tensor):
                found.update(os.fsdecode(entry.value) for entry in tensor.external_data if entry.key == "location")

    wire.rewrite(wire.MemorySource(data), {"TensorProto": note}, hits=wire.find_all(data, LOCATION_KEY))
    return frozenset(location for location in found if "\0" not in location)  # as the mark of what was cut


def _cut(source: wire.FileSource, name: str) -> tuple[bytes, int]:
    """Cut the payloads out of `source`. Returns the serialized skeleton, and how many payloads were cut out."""
    pieces = wire.rewrite(source, {"TensorProto": _cut_tensor}, minimum=CUT_FROM)
    if wire.length_of(pieces) > LARGEST_PROTOBUF:
        raise InvalidModelError(f"{name}: has more than 2 GiB apart from its tensors")
    cuts = sum(isinstance(piece, _Mark) for piece in pieces)
    parts = [source.read(piece.start, piece.stop) if isinstance(piece, wire.Span) else piece for piece in pieces]
    return b"".join(part for part in parts if isinstance(part, bytes)), cuts


class _Mark(bytes):
    """The bytes of the reference that replaces a payload."""


def _cut_tensor(source: wire.Source, start: int, stop: int, path: wire.MessagePath) -> list[bytes | wire.Piece] | None:
    """The pieces of the tensor from `start` to `stop` without its payload; None where it keeps it."""
    big = list(wire.fields(source, start, stop, CUT_FROM))
    if len(big) != 1 or big[0].wire_type != wire.LENGTH_DELIMITED or big[0].number not in CUT_FIELDS:
        return None
    payload = big[0]
    before, after = wire.Span(start, payload.head), wire.Span(payload.stop, stop)
    try:
        tensor = TensorProto.FromString(source.read(*before) + source.read(*after))
    except DecodeError:
        return None  # as the model will be, with an error that says more
    length = payload.stop - payload.start
    if is_external(tensor) or tensor.external_data or is_kept(tensor, length) or _has_payload(tensor):
        return None
    mark = TensorProto()
    if tensor.HasField("data_location"):
        mark.data_location = tensor.data_location
    refer_to_cut(mark, payload.start, length, payload.number)
    return [before, after, _Mark(mark.SerializeToString(deterministic=True))]


def _has_payload(tensor: TensorProto) -> bool:
    """Whether any field of `tensor` holds elements."""
    return any(field.name in DATA_FIELDS for field, _ in tensor.ListFields())
