"""The questions of rules about values: is one constant, and of which type and shape?"""

from __future__ import annotations

import numpy as np
from onnx import TypeProto

from ..errors import Unconvertible
from ..opsets.type_protos import Dimension, Shape
from . import hints
from .scope import Scope

Value = int | str
"""An input of the node, by its number, or any value that the node can read, by its name."""


class Values:
    """Answers to questions about the values that can be read at one place of the model.

    About a value that is absent, nothing is known: the answer is None.
    """

    __slots__ = ("_scope",)

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def _name(self, value: Value) -> str:
        """The name of `value`, or "" where it is absent."""
        raise NotImplementedError

    def constant(self, value: Value) -> np.ndarray | None:
        """The value itself if it is the same in every run; None where it is not."""
        name = self._name(value)
        return self._scope.constant(name) if name else None

    def known_integers(self, value: Value) -> np.ndarray | None:
        """As `constant`, also for integers and booleans that follow from single lengths of a shape whose others are unknown."""
        name = self._name(value)
        return self._scope.known_integers(name) if name else None

    def const_input(self, index: int, what: str) -> np.ndarray:
        """As `constant`, but raises Unconvertible, which calls the input `what`, where the value is only known at run time."""
        value = self.constant(index)
        if value is None:
            name = self._name(index)
            why = "a default that callers may override" if self._is_overridable(name) else "computed at run time"
            raise Unconvertible(
                f"the older form needs {what} as a constant, and '{name}' is {why}", hints.constant_hint(self._scope)
            )
        return value

    def _is_overridable(self, name: str) -> bool:
        scope = self._scope.find(name)
        return scope is not None and name in scope.constants.overridable

    def type(self, value: Value = 0) -> TypeProto | None:
        """Everything that is known about the type of the value, which may be a sequence or an optional; None where nothing is."""
        name = self._name(value)
        return self._scope.type(name) if name else None

    def type_string(self, value: Value = 0) -> str | None:
        """The type as "tensor(float)", "seq(tensor(int64))", …; None where neither the value nor the nodes around it tell."""
        name = self._name(value)
        return self._scope.type_string(name) if name else None

    def elem_type(self, value: Value = 0) -> int | None:
        """The TensorProto.DataType of the value; None where it is unknown, or no tensor."""
        name = self._name(value)
        return self._scope.elem_type(name) if name else None

    def need_elem_type(self, value: Value = 0) -> int:
        """As `elem_type`, but raises Unconvertible where it is unknown."""
        number = self.elem_type(value)
        if number is None:
            name = self._name(value)
            raise Unconvertible(f"the type of '{name}' is unknown", hints.type_hint(self._scope, name))
        return number

    def shape(self, value: Value = 0) -> Shape | None:
        """The dimensions: numbers, the author's symbols, or None where one is unknown; None where the rank is unknown."""
        name = self._name(value)
        return self._scope.shape(name) if name else None

    def need_shape(self, value: Value = 0) -> tuple[int, ...]:
        """All dimensions of the value. Raises Unconvertible where one is unknown."""
        shape = self.shape(value)
        if shape is None:
            self.need_rank(value)
        known = tuple(dim for dim in shape or () if isinstance(dim, int))
        if shape is None or len(known) != len(shape):
            name = self._name(value)
            raise Unconvertible(f"the shape {_show(shape)} of '{name}' is not fully known", self.shape_hint(value))
        return known

    def proven_shape(self, value: Value = 0) -> Shape | None:
        """As `shape`, but without what the file only states."""
        name = self._name(value)
        return self._scope.types.proven_shape(name) if name else None

    def rank(self, value: Value = 0) -> int | None:
        """The number of dimensions; None where it is unknown."""
        name = self._name(value)
        return self._scope.types.rank(name) if name else None

    def need_rank(self, value: Value = 0) -> int:
        """As `rank`, but raises Unconvertible where it is unknown."""
        rank = self.rank(value)
        if rank is None:
            raise Unconvertible(f"the rank of '{self._name(value)}' is unknown", self.shape_hint(value))
        return rank

    def dimension(self, axis: int, value: Value = 0) -> Dimension:
        """The length of axis `axis` (may be negative): a number, a symbol, or None where it is unknown."""
        name = self._name(value)
        return self._scope.types.size(name, axis) if name else None

    def need_dimension(self, axis: int, value: Value = 0) -> int:
        """As `dimension`, but raises Unconvertible where the length is not a number."""
        dim = self.dimension(axis, value)
        if not isinstance(dim, int):
            label = f"the axis dimension '{dim}'" if dim else f"dimension {axis}"
            raise Unconvertible(f"{label} of '{self._name(value)}' is unknown", self.shape_hint(value))
        return dim

    def shape_hint(self, value: Value = 0) -> str:
        """Advice to the user on how the shape of the value can become known."""
        return hints.shape_hint(self._scope, self._name(value))


def _show(shape: Shape | None) -> str:
    return "?" if shape is None else "(" + ", ".join("?" if dim is None else str(dim) for dim in shape) + ")"
