"""The record of one value: the answers to the questions that were asked about it, none of which ever changes."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import TypeProto, helper

from ...opsets import type_protos
from ...opsets.type_protos import Shape

Types = dict[str, TypeProto]
NONE_UNPROVEN: frozenset[int] = frozenset()


class Question(IntEnum):
    """A question about a value; its number is the position of the answer in the record."""

    STATED = 0
    """The type that is known without looking at other nodes than the one that makes the value: a TypeProto or None."""
    TYPE = 1
    """Everything that is known about the type: a `Typed`."""
    CONSTANT = 2
    """The value, if it is the same in every run: an array or None."""
    ENTRIES = 3
    """The known entries of a small vector or scalar of integers: a tuple or None."""
    STRING = 4
    """The kind of value and its element type, as schemas write them: a text or None."""
    TIED = 5
    """The same, as far as it follows from operators around the value that require one type of several values."""


class Unasked:
    """Stands for the answer to a question that nobody asked yet."""


UNASKED: Final = Unasked()


class Typed(NamedTuple):
    """The type of a value, and how far it is to be trusted."""

    type: TypeProto | None = None
    shape: Shape | None = None
    """The dimensions in `type`."""
    unproven: frozenset[int] = NONE_UNPROVEN
    """The axes whose length is only declared."""
    is_better: bool = False
    """Whether more is known than inference of the whole model found."""

    def is_open(self, input_symbols: frozenset[str]) -> bool:
        """Whether a dimension that may have a size is unknown. The symbols of the model's inputs never have a size."""
        if self.shape is None:
            return self.type is None or self.type.WhichOneof("value") in (None, "tensor_type")
        return any(not isinstance(dim, int) and dim not in input_symbols for dim in self.shape)

    @property
    def proven(self) -> Shape | None:
        """The shape, with None for each length that is only declared."""
        if self.shape is None or not self.unproven:
            return self.shape
        return tuple(None if axis in self.unproven else dim for axis, dim in enumerate(self.shape))


NOTHING: Final = Typed()


def may_grow(answer: Any, input_symbols: frozenset[str]) -> bool:
    """Whether more than `answer` may be known once more is known about the values that it was found from."""
    match answer:
        case None:
            return True
        case Typed():
            return answer.is_open(input_symbols)
        case TypeProto():
            return Typed(answer, type_protos.shape_of(answer)).is_open(input_symbols)
        case tuple():
            return None in answer
        case _:
            return False


class Record(NamedTuple):
    """The answers about one value, in the order of `Question`."""

    stated: TypeProto | Unasked | None = UNASKED
    type: Typed | Unasked = UNASKED
    constant: np.ndarray | Unasked | None = UNASKED
    entries: tuple[Any, ...] | Unasked | None = UNASKED
    string: str | Unasked | None = UNASKED
    tied: str | Unasked | None = UNASKED

    def with_answer(self, question: Question, answer: Any) -> Record:
        """The same record with `answer` as the answer to `question`."""
        return Record._make((*self[:question], answer, *self[question + 1 :]))

    def settled(self, input_symbols: frozenset[str]) -> Record:
        """The answers that cannot grow."""
        return Record._make(UNASKED if may_grow(answer, input_symbols) else answer for answer in self)


EMPTY: Final = Record()


def merged(known: TypeProto | None, found: TypeProto) -> TypeProto:
    """Combine two types of the same value. For tensors, each dimension that is known in either of them is known in the result."""
    if known is None or {known.WhichOneof("value"), found.WhichOneof("value")} != {"tensor_type"}:
        return found if known is None else known
    shape = _merged_shape(type_protos.shape_of(known), type_protos.shape_of(found))
    return helper.make_tensor_type_proto(known.tensor_type.elem_type or found.tensor_type.elem_type, shape)


def _merged_shape(known: Shape | None, found: Shape | None) -> Shape | None:
    if known is None or found is None or len(known) != len(found):
        return found if known is None else known
    return tuple(a if isinstance(a, int) or (b is None) else b for a, b in zip(known, found, strict=True))
