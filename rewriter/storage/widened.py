"""Stored elements of a narrow type, read as elements of a wider type that holds the same numbers.

What is on the disk stays as it is: it is widened while it is read or copied, a buffer at a time, so that memory does not grow with
the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from onnx import TensorProto

from .payload import (
    MARK,
    RAW_DATA,
    ForeignTensors,
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
"""The external data entry that names the element type of what is stored; no file that was read has it, as it holds the mark."""
_BUFFER = 3 << 17  # bytes of stored data that are widened at once; no element of 6 bits crosses its end
_SIGNED = frozenset({22, 26})  # int4 and int2, by number: the oldest supported onnx has no name for int2
_UNSIGNED = frozenset({21, 25})  # uint4 and uint2


@dataclass(frozen=True)
class WidenedPayload:
    """The `count` elements of type `narrow` in `stored`, as raw data of type `wide`; both are numbers of TensorProto.DataType."""

    stored: Payload
    narrow: int
    wide: int
    count: int
    field: int = RAW_DATA

    @property
    def length(self) -> int:
        """Its length in bytes, widened."""
        return self.count * _bits(self.wide) // 8

    def read(self) -> bytes:
        """Its bytes. Raises InvalidModelError if the file has changed."""
        return b"".join(self.parts())

    def parts(self) -> Iterator[bytes]:
        """Its bytes, some at a time. Raises InvalidModelError if the file has changed."""
        left = self.length
        for raw in self._stored_parts():
            part = _widened_bytes(raw, self.narrow, self.wide)[:left]
            left -= len(part)
            yield part

    def _stored_parts(self) -> Iterator[bytes]:
        """What is stored, a buffer at a time; a tensor of another library is read only once."""
        held = self.stored.read() if isinstance(self.stored.file, ForeignTensors) else None
        for start in range(0, self.stored.length, _BUFFER):
            stop = min(start + _BUFFER, self.stored.length)
            yield self.stored.raw_range(start, stop).read() if held is None else held[start:stop]

    def elements(self, start: int, stop: int) -> WidenedPayload | None:
        """Elements `start` to `stop`; None where they begin in the middle of a byte."""
        bits = _bits(self.narrow)
        if start * bits % 8:
            return None
        stored = self.stored.raw_range(start * bits // 8, -(-stop * bits // 8))
        return WidenedPayload(stored, self.narrow, self.wide, stop - start)


def widen_raw(raw: bytes, tensor: TensorProto, wide: int) -> TensorProto:
    """`tensor`, whose raw data is `raw`, with elements of type `wide` in their place."""
    widened = without_payload(tensor)
    widened.data_type = wide
    count = int(np.prod(tensor.dims, dtype=np.int64))
    widened.raw_data = _widened_bytes(raw, tensor.data_type, wide)[: count * _bits(wide) // 8]
    return widened


def refer_widened(tensor: TensorProto, wide: int) -> TensorProto:
    """`tensor`, whose payload is on disk as raw data, as one of type `wide` that refers to the same bytes."""
    widened = TensorProto()
    widened.CopyFrom(tensor)
    widened.data_type = wide
    widened.external_data.add(key=_NARROW_KEY, value=str(tensor.data_type))
    return widened


def as_bytes(tensor: TensorProto) -> TensorProto:
    """`tensor`, whose payload is raw data, as a vector of the bytes that it is."""
    packed = TensorProto()
    packed.CopyFrom(tensor)
    packed.data_type, packed.dims[:] = TensorProto.UINT8, [raw_length(tensor)]
    return packed


def elements_of_bytes(narrow: int, wide: int) -> np.ndarray:
    """The elements of type `wide` that each byte of packed elements of type `narrow`, which fill it, stands for, a row each."""
    dtype = element_dtype(TensorProto(data_type=wide))
    return _table(narrow, wide).view(dtype).reshape(256, -1)


def as_stored(tensor: TensorProto) -> TensorProto:
    """`tensor` with the type of what is stored: another one than its own where it is widened when it is read."""
    narrow = external_entries(tensor).get(_NARROW_KEY) if is_external(tensor) else None
    if narrow is None:
        return tensor
    stored = TensorProto()
    stored.CopyFrom(tensor)
    stored.data_type = int(narrow)
    return stored


def drop_mark(tensor: TensorProto) -> None:
    """Let `tensor` no longer say of which type what is stored is, for readers that take that from elsewhere."""
    kept = [entry for entry in tensor.external_data if entry.key != _NARROW_KEY]
    if len(kept) < len(tensor.external_data):
        del tensor.external_data[:]
        tensor.external_data.extend(kept)


def _bits(elem_type: int) -> int:
    return element_bits(TensorProto(data_type=elem_type))


def _widened_bytes(raw: bytes, narrow: int, wide: int) -> bytes:
    """Packed elements of type `narrow` as raw data of type `wide`; bits that fill up the last byte become elements, too."""
    if narrow == TensorProto.BFLOAT16 and wide == TensorProto.FLOAT:  # its bits are the upper half of a float's
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).tobytes()
    codes = np.frombuffer(raw, np.uint8)
    # `take` needs half the time of an index in brackets
    return _table(narrow, wide).take(_of_six_bits(codes) if _bits(narrow) == 6 else codes).tobytes()


def _of_six_bits(packed: np.ndarray) -> np.ndarray:
    """Packed elements of 6 bits, a byte each."""
    count = packed.size * 8 // 6
    return np.packbits(np.unpackbits(packed, count=count * 6, bitorder="little").reshape(-1, 6), axis=1, bitorder="little").ravel()


@cache
def _table(narrow: int, wide: int) -> np.ndarray:
    """The elements of type `wide` that each byte of packed elements of type `narrow` stands for, seen as one number a byte.

    Elements of 6 bits are not packed here: the table has a row for each of the 64.
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
