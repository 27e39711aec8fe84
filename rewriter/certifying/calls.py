"""One node, as the functions that say what its operator computes see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import terms
from .tensors import WHOLE, NotModelledError, Tensor, Value, with_entries
from .terms import Condition, Whole

Require: TypeAlias = Callable[[Condition, str], None]


@dataclass(frozen=True)
class Call:
    """A node of `op_type` in a model of `opset`. An absent input is None.

    `require` states a condition without which the node is not valid: of the original it is assumed, of the result it is shown.
    `is_certain` tells whether a condition is known to hold. `sizes`: the lengths of the axes into which indices point, by the names
    of these.
    """

    op_type: str
    opset: int
    attributes: dict[str, Any]
    inputs: Sequence[Value | None]
    outputs: int
    require: Require
    is_certain: Callable[[Condition], bool]
    sizes: Mapping[str, Whole]

    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute, or `default` where the node has none."""
        return self.attributes.get(name, default)

    def stated(self, name: str) -> list[int]:
        """The numbers of an attribute. Raises NotModelledError where the node does not have it."""
        found = self.attr(name)
        if found is None:
            raise NotModelledError(f"it has no {name}")
        return list(found)

    def flag(self, name: str, default: int) -> bool:
        """Whether an attribute that is 0 or 1 is 1. Nodes with another number are not asked."""
        return self.attr(name, default) == 1

    def has(self, index: int) -> bool:
        """Whether the node has this input."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def tensor(self, index: int) -> Tensor:
        """The input, a tensor. Raises NotModelledError where it is something else."""
        value = self.inputs[index] if self.has(index) else None
        if not isinstance(value, Tensor):
            raise NotModelledError("an input is not a tensor of known rank")
        return value

    def sequence(self, index: int) -> tuple[Tensor, ...]:
        """The input, a sequence. Raises NotModelledError where its length is open."""
        value = self.inputs[index] if self.has(index) else None
        if not isinstance(value, tuple):
            raise NotModelledError("the length of a sequence is open")
        return value

    def elements(self, index: int) -> list[Whole]:
        """The elements of a tensor of integers. Raises NotModelledError for another type, or where their number is open."""
        found = with_entries(self.tensor(index))
        if found.elem_type not in WHOLE:
            raise NotModelledError("its sizes, axes or positions are no integers")
        if found.entries is None:
            raise NotModelledError("the number of its sizes, axes or positions is open")
        return list(np.ravel(found.entries))

    def entries(self, index: int) -> list[Whole]:
        """The elements of a vector. Raises NotModelledError for another rank, or where their number is open."""
        if self.tensor(index).rank != 1:
            raise NotModelledError("its sizes, axes or positions are not a vector")
        return self.elements(index)

    def scalar(self, index: int) -> Whole:
        """The element of a scalar. Raises NotModelledError for another rank."""
        if self.tensor(index).rank:
            raise NotModelledError("its number is not a scalar")
        return self.elements(index)[0]

    def numbers(self, index: int) -> list[int]:
        """The elements of a constant vector. Raises NotModelledError where they are computed."""
        return [_known(value) for value in self.entries(index)]

    def number(self, index: int) -> int:
        """The element of a constant scalar. Raises NotModelledError where it is computed."""
        return _known(self.scalar(index))

    def axis(self, axis: int, rank: int) -> int:
        """The axis, counted from the front."""
        self.require(-rank <= axis < rank, "that the axis exists")
        if not -rank <= axis < rank:
            raise NotModelledError("an axis does not exist")
        return axis % rank

    def axes(self, place: int, name: str = "axes") -> list[int] | None:
        """The axes, from the attribute `name` or the input `place`; None where there are none."""
        return list(self.attr(name)) if self.attr(name) is not None else self.numbers(place) if self.has(place) else None

    def broadcast(self, *tensors: Tensor) -> tuple[Whole, ...]:
        """The lengths of the result of an operator that repeats its operands."""
        rank = max(tensor.rank for tensor in tensors)
        dims: list[Whole] = []
        for axis in range(rank):
            found: Whole = 1
            for tensor in tensors:
                place = axis - rank + tensor.rank
                found = self._joined(found, tensor.dims[place]) if place >= 0 else found
            dims.append(found)
        return tuple(dims)

    def _joined(self, one: Whole, other: Whole) -> Whole:
        if terms.are_same(one, other) or (isinstance(other, int) and other == 1):
            return one
        if isinstance(one, int) and one == 1:
            return other
        same = terms.equal(one, other)
        self.require(terms.some([same, terms.equal(one, 1), terms.equal(other, 1)]), "that operands fit each other")
        return terms.choice(terms.equal(one, 1), other, one)


def _known(value: Whole) -> int:
    if not isinstance(value, int):
        raise NotModelledError("its axes, steps or positions are computed at run time")
    return value


def repeated(tensor: Tensor, dims: Sequence[Whole]) -> Callable[[tuple[Whole, ...]], Any]:
    """The element that `tensor` has at an index into a result with the lengths `dims`, to which it is repeated."""
    offset = len(dims) - tensor.rank

    def at(index: tuple[Whole, ...]) -> Any:
        own = index[offset:]
        found = [
            place if terms.are_same(size, whole) else terms.choice(terms.equal(size, 1), 0, place)
            for place, size, whole in zip(own, tensor.dims, dims[offset:], strict=True)
        ]
        return tensor.at(tuple(found))

    return at


Model: TypeAlias = Callable[[Call], "Sequence[Value]"]
MODELS: dict[str, Model] = {}
"""What each operator computes that can be said in the language of the solver, by its name."""


def models(*op_types: str) -> Callable[[Model], Model]:
    """Register a function that says what these operators compute. It returns the outputs, also those that a node leaves out."""

    def decorate(function: Model) -> Model:
        MODELS.update(dict.fromkeys(op_types, function))
        return function

    return decorate
