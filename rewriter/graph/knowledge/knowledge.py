"""Answers the questions about the values that are visible in one graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx import TypeProto, helper

from ...opsets import type_protos
from ...opsets.partial import Entries
from ...opsets.type_protos import Dimension, Shape
from . import asking
from .asking import Finders
from .constants import find_constant
from .entries import find_entries
from .place import Place
from .record import EMPTY, NONE_UNPROVEN, UNASKED, Question, Typed, merged
from .strings import find_string, find_tied, tied
from .types import find_stated, find_type

_FINDERS: Finders = {
    Question.STATED: find_stated,
    Question.TYPE: find_type,
    Question.CONSTANT: find_constant,
    Question.ENTRIES: find_entries,
    Question.STRING: find_string,
    Question.TIED: find_tied,
}


class Knowledge:
    """What is known about the values that are visible in one graph.

    The answers are kept in one record for each value. The same question gets the same answer before and after any other. If rules
    change the nodes that make a value, its record is made anew, and with it what may become better known by that.
    """

    def __init__(self, place: Place) -> None:
        self._place = place

    def _ask(self, name: str, question: Question) -> Any:
        known = self._place.records.get(self._place.resolve(name), EMPTY)[question]
        return asking.answer(_FINDERS, self._place, name, question) if known is UNASKED else known

    # -- the value

    def constant(self, name: str) -> np.ndarray | None:
        """The value of `name` if it is the same in every run, else None. Payloads on disk are read when needed.

        Raises InvalidModelError where the data of a tensor is missing or does not fit its shape.
        """
        return self._ask(name, Question.CONSTANT)

    def entries(self, name: str) -> Entries | None:
        """The entries of `name`: numbers, the author's symbols, or None.

        None instead of a tuple where it does not hold integers, is not a scalar or vector, is longer than any shape, or of unknown
        length.
        """
        return self._ask(name, Question.ENTRIES)

    def known_integers(self, name: str) -> np.ndarray | None:
        """As `constant`, also for integers and booleans that follow from single lengths of a shape whose others are unknown."""
        found = self.constant(name)
        if found is not None:
            return found
        entries, kind, shape = self.entries(name), self.elem_type(name), self.shape(name)
        if not entries or kind is None or shape is None or not all(isinstance(entry, int) for entry in entries):
            return None
        return np.array(entries, helper.tensor_dtype_to_np_dtype(kind)).reshape([len(entries)] if shape else [])

    # -- the type

    def declared(self, name: str) -> TypeProto | None:
        """The type that the model states for `name`, without any inference."""
        home = self._place.find(name)
        return None if home is None else home.stated.declared.get(name)

    def type(self, name: str) -> TypeProto | None:
        """Everything that is known about the type of `name`; None where nothing is."""
        return self._ask(name, Question.TYPE).type

    def type_string(self, name: str) -> str | None:
        """The type of `name` as "tensor(float)", "seq(tensor(int64))", …; None where neither it nor the nodes around it tell."""
        known = self._ask(name, Question.STRING)
        if known is None and self._place.find(name) is not self._place:  # the nodes that read it here may tell
            return asking.answer(_FINDERS, *tied(self._place, self._place.resolve(name)))
        return known

    def elem_type(self, name: str) -> int | None:
        """The TensorProto.DataType of a tensor; None where it is unknown or `name` is no tensor."""
        return type_protos.tensor_type(self.type_string(name) or "") or None

    def shape(self, name: str) -> Shape | None:
        """The dimensions of `name`: numbers, the author's symbols, or None; None where the rank is unknown."""
        shape, unproven = self._shape(name)
        if unproven and shape is not None:
            self._rely_on(name, shape)
        return shape

    def size(self, name: str, axis: int) -> Dimension:
        """The length of axis `axis` (may be negative) of `name`; None where it is unknown."""
        shape, unproven = self._shape(name)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        if axis % len(shape) in unproven:
            self._rely_on(name, shape)
        return shape[axis]

    def rank(self, name: str) -> int | None:
        """The number of dimensions of `name`; None where it is unknown."""
        shape, _ = self._shape(name)
        return None if shape is None else len(shape)

    def proven_shape(self, name: str) -> Shape | None:
        """As `shape`, but with None for each size that is only declared."""
        shape, unproven = self._shape(name)
        return None if shape is None else Typed(shape=shape, unproven=unproven).proven

    def origin_of_dimension(self, name: str, axis: int) -> tuple[str, int]:
        """The model input and its axis that certainly have the same length as axis `axis` of `name`, a value of the main graph.

        If there is none, or several inputs that are equal only by their symbol, the result is `name` and `axis` themselves.
        """
        shape = self.proven_shape(name)
        symbol = None if shape is None else shape[axis]
        known = self._place.model.input_dimensions
        return known.get(symbol, (name, axis)) if isinstance(symbol, str) else (name, axis)

    def _shape(self, name: str) -> tuple[Shape | None, frozenset[int]]:
        """The dimensions of `name`, and the axes whose length is only declared.

        The types of a large model without subgraphs are looked up before its graph is, because listing all makers of values would
        take longer than the conversion.
        """
        propagated = self._place.stated.propagated
        shape = None if propagated is None else propagated.shape(self._place.resolve(name))
        if shape is not None:
            return shape, NONE_UNPROVEN
        known = self._ask(name, Question.TYPE)
        return known.shape, known.unproven

    def _rely_on(self, name: str, shape: Shape) -> None:
        """Note that the current rule may rely on a size in `shape` that is only declared."""
        self._place.model.sizes_relied_on[self._place.resolve(name)] = shape

    # -- changes by rules

    def note(self, name: str, kind: TypeProto) -> None:
        """Store the type of a value that a rule made, where the rule knows it better than inference."""
        self._place.noted[name] = kind
        constant = self._place.records.get(name, EMPTY).constant
        self._place.records[name] = EMPTY.with_answer(Question.CONSTANT, constant)
        self.renew([name])

    def note_equal(self, name: str, value: str) -> None:
        """Store that `value`, if a rule made it, has the type that is known for `name`."""
        kind = self.type(name)
        if kind is not None and value in self._place.made:
            self.note(value, merged(self.type(value), kind))

    def note_constant(self, name: str, value: np.ndarray) -> None:
        """Store the value of a constant that a rule made."""
        self._place.records[name] = EMPTY.with_answer(Question.CONSTANT, value)

    def renew(self, names: Iterable[str]) -> bool:
        """Forget what is known about `names`, because a rule replaced the nodes that make them. Returns whether anything was."""
        return asking.forget(self._place, names)

    def alias(self, name: str) -> None:
        """Forget what may be better known now that `name` stands for another value."""
        asking.forget_readers([(self._place, name)])
