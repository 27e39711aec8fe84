"""What bounds the whole numbers that a value holds in every run, by the nodes that make it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind
from .integers import BITS, UNSIGNED
from .moves import adds_zeros, moved

_MOST_NODES = 64
"""The number of nodes back to which a value is followed."""
_DIGITS: dict[int, int] = {TensorProto.FLOAT16: 11, TensorProto.FLOAT: 24, TensorProto.DOUBLE: 53}
"""For each float type, the exponent of the power of two up to which it has all whole numbers."""


_BY_FOLDING: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": lambda number: -number,
    "max": lambda *numbers: max(numbers),
    "min": lambda *numbers: min(numbers),
}
"""What an operator computes, by the word `folds` of its row, if its result is smallest and largest at bounds of its operands."""
_MOST_OPERANDS = 4


class Bounds(NamedTuple):
    """The smallest and the largest of the numbers that a value may hold, all of which are whole, and none -0."""

    low: int
    high: int

    def within(self, limit: int) -> bool:
        """Whether no number is further from 0 than `limit`."""
        return -limit <= self.low and self.high <= limit


def bounds(node: Node, name: str) -> Bounds | None:
    """The bounds of the value, which `node` reads; None where it may hold others than whole numbers, NaN and infinity included."""
    return _Search().of(node, name)


def holds(elem_type: int | None) -> Bounds | None:
    """The whole numbers of a type that are next to each other; all of an integer type. None for types without arithmetic."""
    if elem_type == TensorProto.BOOL:
        return Bounds(0, 1)
    digits = _DIGITS.get(elem_type or 0)
    if digits is not None:
        return Bounds(-(2**digits), 2**digits)
    bits = BITS.get(elem_type or 0)
    if bits is None:
        return None
    return Bounds(0, 2**bits - 1) if elem_type in UNSIGNED else Bounds(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class _Search:
    """A walk back from one value, by which each node is asked once."""

    def __init__(self) -> None:
        self._found: dict[str, Bounds | None] = {}

    def of(self, reader: Node, name: str) -> Bounds | None:
        if not name:
            return None
        if name not in self._found:
            if len(self._found) >= _MOST_NODES:
                return None
            self._found[name] = None
            self._found[name] = self._bounds(reader, name)
        return self._found[name]

    def _bounds(self, reader: Node, name: str) -> Bounds | None:
        value, kind = reader.constant(name), reader.elem_type(name)
        if value is not None:
            return _of_stored(value)
        of_type, is_float = holds(kind), kind in _DIGITS
        maker = reader.maker(name)
        found = None if maker is None or of_type is None else self._of_result(maker, is_float)
        if found is None:
            return None if is_float else of_type
        return _rounded(found, kind) if is_float else _wrapped(found, of_type)

    def _of_result(self, maker: Node, is_float: bool) -> Bounds | None:
        fact = facts.of(maker.op_type)
        if fact.kind is Kind.CASTS and maker.op_type == "Cast":
            return self.of(maker, maker.input(0))
        if data := moved(maker):
            return None if adds_zeros(maker) else self._of_moved(maker, data)
        if maker.op_type == "CumSum":
            return self._of_totals(maker)
        if fact.kind is not Kind.ELEMENTWISE:
            return None
        operands = [self.of(maker, operand) for operand in maker.inputs]
        known = [each for each in operands if each is not None]
        if len(known) < len(operands):
            return None
        if maker.op_type == "Relu":
            return Bounds(max(known[0].low, 0), max(known[0].high, 0))
        if maker.op_type == "Mul" and maker.input(0) == maker.input(1):
            return _squared(known[0])
        return None if is_float and _may_be_minus_zero(fact, known) else _computed(fact, known)

    def _of_totals(self, maker: Node) -> Bounds | None:
        """The bounds of the totals of up to all numbers along the axis."""
        axis, terms = maker.constant(1), self.of(maker, maker.input(0))
        length = None if axis is None or axis.size != 1 else maker.dimension(int(axis.item()))
        if terms is None or not isinstance(length, int):
            return None
        total = Bounds(min(0, terms.low * length), max(0, terms.high * length))
        exact = holds(maker.elem_type())
        return total if exact is not None and exact.low <= total.low and total.high <= exact.high else None

    def _of_moved(self, maker: Node, data: list[int]) -> Bounds | None:
        """The bounds of all that the node may copy."""
        known = [each for each in (self.of(maker, maker.input(index)) for index in data) if each is not None]
        if len(known) < len(data):
            return None
        return Bounds(min(each.low for each in known), max(each.high for each in known))


def _of_stored(value: np.ndarray) -> Bounds | None:
    if value.dtype.kind not in "biuf" or not value.size or (value.dtype.kind == "f" and not _are_whole(value)):
        return None
    return Bounds(int(value.min()), int(value.max()))


def _are_whole(value: np.ndarray) -> bool:
    return bool(np.isfinite(value).all() and (value == np.trunc(value)).all() and not np.signbit(value[value == 0]).any())


def _squared(found: Bounds) -> Bounds:
    squares = found.low**2, found.high**2
    return Bounds(0 if found.low <= 0 <= found.high else min(squares), max(squares))


def _may_be_minus_zero(fact: facts.Fact, operands: list[Bounds]) -> bool:
    """Whether a float may be -0: the negative of 0, or its product with a number below 0."""
    zeros = [operand.low <= 0 <= operand.high for operand in operands]
    match fact.word("folds"):
        case "neg":
            return zeros[0]
        case "mul":
            return any(zero and other.low < 0 for zero, other in zip(zeros, operands[::-1], strict=True))
    return False


def _computed(fact: facts.Fact, operands: list[Bounds]) -> Bounds | None:
    """The bounds of the result of an elementwise operator on whole numbers, before it is rounded; None for other operators."""
    compute = _BY_FOLDING.get(fact.word("folds"))
    if compute is None or len(operands) > _MOST_OPERANDS:
        return None
    corners: list[int] = [compute(*corner) for corner in product(*operands)]
    return Bounds(min(corners), max(corners))


def _rounded(found: Bounds, kind: int | None) -> Bounds | None:
    """The bounds in a float type, which rounds large numbers to its next one; None where it may have none so large."""
    digits, dtype = _DIGITS[kind or 0], helper.tensor_dtype_to_np_dtype(kind or 0)
    if found.within(2**digits):
        return found
    if not found.within(int(np.finfo(dtype).max) // 2):
        return None
    low, high = (np.array(bound, np.float64).astype(dtype) for bound in found)
    return Bounds(int(np.nextafter(low, -np.inf, dtype=dtype)), int(np.nextafter(high, np.inf, dtype=dtype)))


def _wrapped(found: Bounds, of_type: Bounds | None) -> Bounds | None:
    """The bounds in an integer type: all of it where the numbers may lie beyond."""
    return found if of_type is None or (of_type.low <= found.low and found.high <= of_type.high) else of_type
