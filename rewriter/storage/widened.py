"""Reads stored elements of a narrow type as elements of a wider type that holds the same numbers.

The data on the disk is not changed: it is widened while it is read or copied, one buffer at a time, so that memory does not grow
with the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from onnx import TensorProto

from .foreign_tensors import ForeignTensors
from .payload import (
    MARK,
    RAW_DATA,
    Payload,
    decoded,
    element_bits,
    element_dtype,
    external_entries,
    is_external,
    raw_length,
    without_payload,
)

_NARROW_KEY = f"{MARK}-narrow"
"""The external data entry with the stored element type. It contains the mark, so no file that was read can have this entry."""
_BUFFER = 3 << 17  # bytes of stored data that are widened at once; no element of 6 bits crosses its end
_SIGNED = frozenset({22, 26})  # int4 and int2, by number: the oldest supported onnx has no name for int2
_UNSIGNED = frozenset({21, 25})  # uint4 and uint2


@dataclass(frozen=True)
class WidenedPayload:
    """`stored`, with `count` elements of type `narrow`, as raw data of type `wide`.

    Both types are numbers of TensorProto.DataType.
    """

    stored: Payload
    narrow: int
    wide: int
    count: int
    field: int = RAW_DATA

    @property
    def length(self) -> int:
        """The length in bytes after widening."""
        return self.count * _bits(self.wide) // 8

    def read(self) -> bytes:
        """Read all bytes. Raises InvalidModelError where the file has changed."""
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """The bytes, one buffer at a time. Raises InvalidModelError where the file has changed."""
        left = self.length
        for raw in self._stored_parts():
            part = _widened_bytes(raw, self.narrow, self.wide)[:left]
            left -= len(part)
            yield part

    def _stored_parts(self) -> Iterator[bytes]:
        """The stored bytes, one buffer at a time. A tensor of another library is read only once."""
        held = self.stored.read() if isinstance(self.stored.file, ForeignTensors) else None
        for start in range(0, self.stored.length, _BUFFER):
            stop = min(start + _BUFFER, self.stored.length)
            yield self.stored.raw_range(start, stop).read() if held is None else held[start:stop]

    def elements(self, start: int, stop: int) -> WidenedPayload | None:
        """The elements from `start` to `stop`; None where they begin in the middle of a byte."""
        bits = _bits(self.narrow)
        if start * bits % 8:
            return None
        stored = self.stored.raw_range(start * bits // 8, -(-stop * bits // 8))
        return WidenedPayload(stored, self.narrow, self.wide, stop - start)


def widen_raw(raw: bytes, tensor: TensorProto, wide: int) -> TensorProto:
    """A copy of `tensor`, whose raw data is `raw`, with elements of type `wide`."""
    widened = without_payload(tensor)
    widened.data_type = wide
    count = int(np.prod(tensor.dims, dtype=np.int64))
    widened.raw_data = _widened_bytes(raw, tensor.data_type, wide)[: count * _bits(wide) // 8]
    return widened


def refer_widened(tensor: TensorProto, wide: int) -> TensorProto:
    """A copy of `tensor`, whose payload is raw data on disk, with type `wide` and a reference to the same bytes."""
    widened = TensorProto()
    widened.CopyFrom(tensor)
    widened.data_type = wide
    widened.external_data.add(key=_NARROW_KEY, value=str(tensor.data_type))
    return widened


def as_bytes(tensor: TensorProto) -> TensorProto:
    """A copy of `tensor`, whose payload is raw data, as a vector of its bytes."""
    packed = TensorProto()
    packed.CopyFrom(tensor)
    packed.data_type, packed.dims[:] = TensorProto.UINT8, [raw_length(tensor)]
    return packed


def elements_of_bytes(narrow: int, wide: int) -> np.ndarray:
    """For each value of a byte, the elements that it packs: a table with 256 rows, for type `narrow`, with
    elements of type `wide`.
    """
    dtype = element_dtype(TensorProto(data_type=wide))
    return _table(narrow, wide).view(dtype).reshape(256, -1)


def as_stored(tensor: TensorProto) -> TensorProto:
    """`tensor` with the type that is stored, which is another one if the elements are widened when they are read."""
    narrow = external_entries(tensor).get(_NARROW_KEY) if is_external(tensor) else None
    if narrow is None:
        return tensor
    stored = TensorProto()
    stored.CopyFrom(tensor)
    stored.data_type = int(narrow)
    return stored


def drop_mark(tensor: TensorProto) -> None:
    """Remove the entry with the stored type from `tensor`, for readers that know the stored type from elsewhere."""
    kept = [entry for entry in tensor.external_data if entry.key != _NARROW_KEY]
    if len(kept) < len(tensor.external_data):
        del tensor.external_data[:]
        tensor.external_data.extend(kept)


def _bits(elem_type: int) -> int:
    return element_bits(TensorProto(data_type=elem_type))


def _widened_bytes(raw: bytes, narrow: int, wide: int) -> bytes:
    """Packed elements of type `narrow` as raw data of type `wide`. The unused bits of the last byte become elements too."""
    if narrow == TensorProto.BFLOAT16 and wide == TensorProto.FLOAT:  # its bits are the upper half of a float's
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).tobytes()
    codes = np.frombuffer(raw, np.uint8)
    # `take` needs half the time of an index in brackets
    return _table(narrow, wide).take(_of_six_bits(codes) if _bits(narrow) == 6 else codes).tobytes()


def _of_six_bits(packed: np.ndarray) -> np.ndarray:
    """Unpack elements of 6 bits to one byte each."""
    count = packed.size * 8 // 6
    return np.packbits(np.unpackbits(packed, count=count * 6, bitorder="little").reshape(-1, 6), axis=1, bitorder="little").ravel()


@cache
def _table(narrow: int, wide: int) -> np.ndarray:
    """For each value of a byte, the elements of type `narrow` that it packs, as raw data of type `wide` in one number.

    Elements of 6 bits are unpacked before: their table has one row for each of the 64 values.
    """
    bits = _bits(narrow)
    every_byte = np.arange(64 if bits == 6 else 256, dtype=np.uint8)
    if narrow in _SIGNED | _UNSIGNED:
        unpacked = np.unpackbits(every_byte, bitorder="little").reshape(-1, bits)
        values = unpacked @ (1 << np.arange(bits))
        if narrow in _SIGNED:
            values = values - ((values >> (bits - 1)) << bits)
    elif bits == 6:
        values = every_byte.view(element_dtype(TensorProto(data_type=narrow)))
    else:
        values = decoded(every_byte.tobytes(), TensorProto(data_type=narrow, dims=[256 * 8 // bits]))
    elements = values.astype(element_dtype(TensorProto(data_type=wide)))
    return elements.view(f"<u{elements.nbytes // len(every_byte)}")
