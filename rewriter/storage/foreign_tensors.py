"""Tensors that another library owns, as onnx_ir's, read in pieces like a file."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Protocol

from ..errors import InvalidModelError


class ForeignTensor(Protocol):
    """A tensor that another library owns. It returns its raw data, in ONNX's layout, on request."""

    @property
    def nbytes(self) -> int: ...

    def tobytes(self) -> bytes: ...


class ForeignTensors:
    """Tensors that another library owns, addressed as if they were one after the other in a file.

    Each is read when its bytes are needed.
    """

    name = "the model in memory"

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._tensors: list[ForeignTensor] = []
        self.size = 0

    def add(self, tensor: ForeignTensor) -> int:
        """Add `tensor` and return its offset. No other tensor has the same offset, even if this one is empty."""
        offset = self.size
        self._offsets.append(offset)
        self._tensors.append(tensor)
        self.size += max(tensor.nbytes, 1)
        return offset

    def at(self, offset: int, length: int) -> ForeignTensor | None:
        """The tensor that consists of exactly these bytes; None where they are only a part of a tensor."""
        index = bisect.bisect_right(self._offsets, offset) - 1
        tensor = self._tensors[index]
        return tensor if self._offsets[index] == offset and tensor.nbytes == length else None

    def holding(self, offset: int) -> ForeignTensor:
        """The tensor that contains the byte at `offset`."""
        return self._tensors[bisect.bisect_right(self._offsets, offset) - 1]

    def pieces(self, offset: int, length: int) -> Iterator[bytes]:
        """The bytes of this range, one tensor at a time. Raises: InvalidModelError where the library does not provide them."""
        stop = offset + length
        index = bisect.bisect_right(self._offsets, offset) - 1
        while offset < stop:
            start, data = self._offsets[index], self._read(self._tensors[index])
            yield data[offset - start : stop - start]
            offset, index = start + max(len(data), 1), index + 1

    def read(self, offset: int, length: int) -> bytes:
        return b"".join(self.pieces(offset, length))

    @staticmethod
    def _read(tensor: ForeignTensor) -> bytes:
        name = getattr(tensor, "name", None)
        try:
            data = tensor.tobytes()
        except Exception as error:  # of whatever kind the library, or a file behind it, raises
            raise InvalidModelError(f"tensor {name!r}: cannot be read: {' '.join(str(error).split())}") from error
        if len(data) != tensor.nbytes:
            raise InvalidModelError(f"tensor {name!r}: has {len(data)} bytes of data, but declares {tensor.nbytes}")
        return data
