"""Tensors of another library, read like a file."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.storage.foreign_tensors import ForeignTensors

pytestmark = pytest.mark.quick


class Held:
    name = "w"

    def __init__(self, data: bytes, declared: int | None = None) -> None:
        self._data = data
        self.nbytes = len(data) if declared is None else declared

    def tobytes(self) -> bytes:
        return self._data


class Gone(Held):
    def tobytes(self) -> bytes:
        raise OSError("it is\ngone")


def test_tensors_follow_each_other_and_none_shares_its_offset() -> None:
    tensors = ForeignTensors()
    assert [tensors.add(Held(data)) for data in (b"abc", b"", b"def")] == [0, 3, 4]
    assert tensors.read(4, 3) == b"def" and tensors.read(1, 2) == b"bc"
    assert tensors.size == 7


def test_a_whole_tensor_is_told_from_a_part_of_one() -> None:
    tensors, first = ForeignTensors(), Held(b"abc")
    tensors.add(first)
    assert tensors.at(0, 3) is first and tensors.at(0, 2) is None and tensors.at(1, 2) is None
    assert tensors.holding(2) is first


@pytest.mark.parametrize(
    ("tensor", "message"),
    [(Gone(b"abc"), "tensor 'w': cannot be read: it is gone"), (Held(b"ab", 3), "tensor 'w': has 2 bytes of data, but declares 3")],
)
def test_what_the_library_does_not_provide_is_an_error(tensor: Held, message: str) -> None:
    tensors = ForeignTensors()
    tensors.add(tensor)
    with pytest.raises(InvalidModelError, match=message):
        tensors.read(0, 3)
