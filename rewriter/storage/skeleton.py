"""A model without its large payloads, on which the engine works, and access to the values of its tensors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto, SparseTensorProto, TensorProto

from ..errors import InvalidModelError
from . import wire
from .foreign_tensors import ForeignTensors
from .payload import (
    LOCATION_KEY,
    Payload,
    cut_payload,
    decoded,
    element_bits,
    element_count,
    element_range,
    external_entries,
    file_payload,
    has_raw_layout,
    inline_copy,
    is_cut,
    is_external,
    is_kept,
    label,
    raw_bytes,
    raw_length,
    refer,
    refer_to_cut,
    without_payload,
)
from .source_file import SourceFile, data_file
from .widened import WidenedPayload, as_bytes, as_stored, refer_widened, widen_raw
from .wire import LARGEST_PROTOBUF

# onnx takes a location that begins with "#" for data in memory, and looks for no file.
_NO_FILE = "#"


class Skeleton:
    """A model whose large payloads may be on disk.

    `proto` may be edited in place, and TensorProtos may be copied within it: a payload that was cut out, or is external data, is a
    reference inside the TensorProto. `file` is the file with the cut payloads; `path` the model file, None for a model in memory;
    `base_dir` the folder that locations of external data are relative to, None if it is unknown; `locations` the external data of
    the model file.
    """

    def __init__(
        self,
        proto: ModelProto,
        file: SourceFile | ForeignTensors | None = None,
        base_dir: Path | None = None,
        locations: frozenset[str] = frozenset(),
    ) -> None:
        self.proto = proto
        self.file = file
        self.path = file.path if isinstance(file, SourceFile) else None
        self.base_dir = base_dir
        self.locations = locations
        self._data_files: dict[str, SourceFile] = {}
        self._sealed: tuple[wire.MemorySource, list[int]] | None = None

    @classmethod
    def of(cls, proto: ModelProto, base_dir: str | os.PathLike[str] | None = None) -> Skeleton:
        """The skeleton of a model in memory. The model is not copied."""
        return cls(proto, base_dir=None if base_dir is None else Path(base_dir))

    def seal(self) -> None:
        """Declare that `proto` will not change any more, or that a change is complete, so that it is serialized only once."""
        self._sealed = None
        self._sealed = self.with_references()

    def payload(self, tensor: TensorProto) -> Payload | WidenedPayload | None:
        """Where on disk the payload of `tensor` is; None where `tensor` contains it.

        Raises InvalidModelError where the file is missing, unsafe or too short, or the payload does not fit type and shape.
        """
        if not is_external(tensor):
            return None
        stored = as_stored(tensor)
        payload = self._stored_payload(stored)
        if stored is tensor:
            return payload
        return WidenedPayload(payload, stored.data_type, tensor.data_type, element_count(tensor))

    def _stored_payload(self, tensor: TensorProto) -> Payload:
        """Where on disk the payload of `tensor`, which does not contain it, is. Raises InvalidModelError."""
        if not is_cut(tensor):
            return file_payload(tensor, self._data_file(tensor))
        if self.file is None:
            raise InvalidModelError(f"{label(tensor)}: has no data in this model")
        return cut_payload(tensor, self.file)

    def _data_file(self, tensor: TensorProto) -> SourceFile:
        """The file with the external data of `tensor`. Raises InvalidModelError."""
        location = external_entries(tensor)["location"]
        if self.base_dir is None:
            raise InvalidModelError(f"{label(tensor)}: has external data, but the folder of the model is not known; give its path")
        if location not in self._data_files:
            try:
                self._data_files[location] = data_file(self.base_dir, location)
            except InvalidModelError as error:
                raise InvalidModelError(f"{label(tensor)}: {error}") from error
        return self._data_files[location]

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The value of `tensor`, which may be read-only. Types that numpy lacks are those of ml_dtypes; strings are objects.

        Raises InvalidModelError where the payload cannot be read or does not fit type and shape.
        """
        if tensor.data_type == TensorProto.STRING:
            return _strings(tensor)
        return decoded(self._raw(tensor, self.payload(tensor)), tensor)

    def widened(self, tensor: TensorProto, wide: int) -> TensorProto:
        """`tensor` with the same elements in the wider type `wide`. A payload on disk is widened when it is read or written.

        Raises InvalidModelError where the payload is missing, unsafe or does not fit type and shape.
        """
        payload = self.payload(tensor)
        if isinstance(payload, Payload) and has_raw_layout(tensor, payload.field):
            return refer_widened(tensor, wide)
        return widen_raw(self._raw(tensor, payload), tensor, wide)

    def packed(self, tensor: TensorProto) -> TensorProto:
        """The bytes into which `tensor` packs its elements, as a vector of uint8, which stays on disk if `tensor` is there.

        Raises InvalidModelError where the payload is missing, unsafe or does not fit type and shape.
        """
        payload = self.payload(tensor)
        if payload is not None and has_raw_layout(tensor, payload.field):
            return as_bytes(tensor)
        raw = without_payload(tensor)
        raw.raw_data = self._raw(tensor, payload)
        return as_bytes(raw)

    def unpacked(self, tensor: TensorProto, elem_type: int, dims: Sequence[int], name: str) -> TensorProto:
        """The bytes of `tensor` as a tensor `name` of shape `dims` whose elements are of the packed type `elem_type`.

        They stay on disk if `tensor` is there. Raises ValueError where they do not fit, and InvalidModelError as `packed`.
        """
        found = self.packed(tensor)
        length = found.dims[0]
        found.name, found.data_type, found.dims[:] = name, elem_type, dims
        if raw_length(found) != length:
            raise ValueError(f"{length} bytes do not fit shape {list(dims)}")
        return found

    def _raw(self, tensor: TensorProto, payload: Payload | WidenedPayload | None) -> bytes:
        """The payload of `tensor` as raw data."""
        if payload is None:
            return raw_bytes(tensor)
        return payload.read() if has_raw_layout(tensor, payload.field) else raw_bytes(inline_copy(tensor, payload))

    def part(self, tensor: TensorProto, start: int, stop: int, dims: Sequence[int], name: str) -> TensorProto:
        """A tensor `name` of shape `dims` that holds elements `start` to `stop` of `tensor`, flattened in C order.

        It refers to the bytes on disk if `tensor` does and the part is large, and holds a copy otherwise. Raises InvalidModelError,
        like `array`.
        """
        part = TensorProto(name=name, dims=dims, data_type=tensor.data_type)
        if not 0 <= start <= stop <= element_count(tensor) or element_count(part) != stop - start:
            raise ValueError(f"elements {start} to {stop} of shape {list(tensor.dims)} do not fit shape {list(dims)}")
        if tensor.data_type == TensorProto.STRING:
            _strings(tensor)
            part.string_data.extend(tensor.string_data[start:stop])
            return part
        bits = element_bits(tensor)
        payload = self.payload(tensor)
        piece = None
        if isinstance(payload, WidenedPayload):
            piece = payload.elements(start, stop)
        elif payload is not None and bits % 8 == 0 and has_raw_layout(tensor, payload.field):
            piece = payload.raw_range(start * bits // 8, stop * bits // 8)
        if piece is None:
            part.raw_data = element_range(self._raw(tensor, payload), bits, start, stop)
        elif is_kept(part, piece.length):
            part.raw_data = piece.read()
        elif isinstance(piece, WidenedPayload):
            part.data_type = piece.narrow
            _refer_like(tensor, part, piece.stored)
            return refer_widened(part, piece.wide)
        else:
            _refer_like(tensor, part, piece)
        return part

    def checkable(self) -> bytes:
        """The serialized model for `onnx.checker` (also with `full_check`) and shape inference, in a form that needs no weights.

        Tensors whose payload is on disk have only their type and shape. Vectors that may be sizes, shapes, axes or scales are
        included: int64 vectors of up to 64 KiB, others of less than 4 KiB. Raises InvalidModelError where such a vector cannot be
        read.
        """
        source, hits = self.with_references()
        if not hits:
            return source.data
        edits = {"TensorProto": self._checkable_tensor, "SparseTensorProto": self._checkable_sparse}
        return _joined(source, wire.rewrite(source, edits, hits=hits))

    def _checkable_tensor(self, source: wire.Source, start: int, stop: int, path: wire.MessagePath) -> list[bytes] | None:
        """The tensor from `start` to `stop` in the form for the checker; None where it stays as it is."""
        tensor = TensorProto.FromString(source.read(start, stop))
        if not is_external(tensor):
            return None
        is_readable = is_cut(tensor) or self.base_dir is not None
        if is_readable and len(tensor.dims) <= 1 and is_kept(tensor, raw_length(tensor)):
            payload = self.payload(tensor)
            assert payload is not None
            return [inline_copy(tensor, payload).SerializeToString(deterministic=True)]
        return [_without_file(tensor).SerializeToString(deterministic=True)]

    def _checkable_sparse(self, source: wire.Source, start: int, stop: int, path: wire.MessagePath) -> list[bytes] | None:
        """A sparse tensor with one element and the same dense shape, because the checker would read the indices of all elements."""
        sparse = SparseTensorProto.FromString(source.read(start, stop))
        if not (is_external(sparse.values) or is_external(sparse.indices)):
            return None
        values = _without_file(sparse.values)
        values.dims[:] = [1]
        indices = TensorProto(name=sparse.indices.name, data_type=TensorProto.INT64, dims=[1], int64_data=[0])
        one_element = SparseTensorProto(values=values, indices=indices, dims=sparse.dims)
        return [one_element.SerializeToString(deterministic=True)]

    def materialize(self) -> ModelProto:
        """The whole model with all payloads inside, or `proto` itself if it contains them already.

        External data stays external only where the folder of the model is unknown. Raises InvalidModelError where the model would
        have more than 2 GiB, or a payload cannot be read.
        """
        source, hits = self.with_references()
        if not hits:
            return self.proto
        pieces = wire.rewrite(source, {"TensorProto": self._inlined_tensor}, hits=hits)
        if wire.length_of(pieces) > LARGEST_PROTOBUF:
            raise InvalidModelError("the model has over 2 GiB, too much for one protobuf in memory; write it to a file")
        return ModelProto.FromString(_joined(source, pieces))

    def _inlined_tensor(
        self, source: wire.Source, start: int, stop: int, path: wire.MessagePath
    ) -> Sequence[bytes | wire.Piece] | None:
        tensor = TensorProto.FromString(source.read(start, stop))
        if self.base_dir is None and not is_cut(tensor):
            return None
        payload = self.payload(tensor)
        return None if payload is None else restored(tensor, payload)

    @property
    def data_paths(self) -> list[Path]:
        """The data files of the model as it was read, whether or not they exist."""
        return [] if self.base_dir is None else [self.base_dir / location for location in sorted(self.locations)]

    def with_references(self) -> tuple[wire.MemorySource, list[int]]:
        """`proto`, serialized deterministically, and the positions of tensors that may refer to payloads on disk."""
        if self._sealed is not None:
            return self._sealed
        try:
            data = self.proto.SerializeToString(deterministic=True)
        except Exception as error:  # which one depends on the implementation of protobuf
            raise InvalidModelError(f"the model cannot be serialized: {error}") from error
        return wire.MemorySource(data), wire.find_all(data, LOCATION_KEY)


class Snapshot:
    """A skeleton as it was at one moment. It is held as bytes, so that no later change of the skeleton can reach it.

    Raises InvalidModelError where the skeleton cannot be serialized.
    """

    def __init__(self, skeleton: Skeleton) -> None:
        self._data = skeleton.with_references()[0].data
        self._file, self._base_dir, self._locations = skeleton.file, skeleton.base_dir, skeleton.locations
        self.path = skeleton.path
        """The file that the skeleton was read from; None for a model in memory."""

    def skeleton(self) -> Skeleton:
        """A new skeleton with this content. It refers to the same payloads on disk."""
        return Skeleton(ModelProto.FromString(self._data), self._file, self._base_dir, self._locations)


def _refer_like(tensor: TensorProto, part: TensorProto, payload: Payload) -> None:
    """Let `part` refer to `payload`, a part of the payload of `tensor`, in the same way as `tensor` does."""
    if is_cut(tensor):
        refer_to_cut(part, payload.offset, payload.length, payload.field)
    else:
        refer(part, external_entries(tensor)["location"], payload.offset, payload.length)


def _strings(tensor: TensorProto) -> np.ndarray:
    """The value of a string tensor."""
    if is_external(tensor) or len(tensor.string_data) != element_count(tensor):
        raise InvalidModelError(f"{label(tensor)}: has {len(tensor.string_data)} strings for shape {list(tensor.dims)}")
    try:
        return np.array([text.decode() for text in tensor.string_data], dtype=object).reshape(tensor.dims)
    except UnicodeDecodeError as error:
        raise InvalidModelError(f"{label(tensor)}: string {error.object[:30]!r} is not UTF-8") from error


def restored(tensor: TensorProto, payload: Payload | WidenedPayload) -> list[bytes | wire.Piece]:
    """`tensor` with `payload` inside; its fields are in the order of their numbers, as protobuf writes them."""
    head = without_payload(tensor).SerializeToString(deterministic=True)
    fields = wire.fields(wire.MemorySource(head), 0, len(head))
    at = next((field.head for field in fields if field.number > payload.field), len(head))
    return [head[:at], wire.header(payload.field, payload.length), payload, head[at:]]


def _joined(source: wire.Source, pieces: Sequence[bytes | wire.Piece]) -> bytes:
    """The bytes of `pieces`, one after the other."""
    return b"".join(_bytes_of(source, piece) for piece in pieces)


def _bytes_of(source: wire.Source, piece: bytes | wire.Piece) -> bytes:
    if isinstance(piece, wire.Span):
        return source.read(piece.start, piece.stop)
    if isinstance(piece, Payload | WidenedPayload):
        return piece.read()
    assert isinstance(piece, bytes)
    return piece


def _without_file(tensor: TensorProto) -> TensorProto:
    """`tensor` without its payload, marked such that onnx looks for no file. Its name may be damaged, and is copied as it is.

    Two of them are the same only if their payload is at the same place.
    """
    stub = without_payload(tensor)
    refer(stub, _NO_FILE, 0, 0)
    place = ", ".join(sorted(f"{entry.key}: {entry.value}" for entry in tensor.external_data))
    stub.external_data.add(key="place", value=place)
    return stub
