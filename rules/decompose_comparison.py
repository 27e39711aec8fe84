"""Tests and comparisons of numbers, written with the comparisons that older opsets have.

https://onnx.ai/onnx/operators/ (IsNaN, IsInf, Sign, Equal, Less, Greater). Nothing compares with NaN but by being false, and
opset 7 compares floating point only.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose, downgrade
from .indices import int64

FLOATING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
WIDE_INTEGERS = (TensorProto.INT64, TensorProto.UINT64)


def typed(node: Node, value: float | int, elem_type: int, what: str) -> str:
    """A scalar constant of `elem_type`."""
    return node.add_constant(value, helper.tensor_dtype_to_np_dtype(elem_type), what)


def _need_floating(node: Node) -> int:
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        name = TensorProto.DataType.Name(elem_type).lower()
        raise Unconvertible(f"older operators cannot compare {name}", "cast to float before it")
    return elem_type


@decompose("IsNaN", opset=7)
def neither_below_one_nor_above_zero(node: Node) -> None:
    """Every number is below one or above zero; NaN is neither."""
    elem_type = _need_floating(node)
    below = node.before("Less", [node.input(0), typed(node, 1, elem_type, "one")], what="below")
    above = node.before("Greater", [node.input(0), typed(node, 0, elem_type, "zero")], what="above")
    node.become("Not", [node.before("Or", [below, above], what="number")])


@decompose("IsInf", opset=7)
def beyond_the_largest(node: Node) -> None:
    """An infinity is beyond the largest finite number."""
    elem_type = _need_floating(node)
    largest = float(np.finfo(helper.tensor_dtype_to_np_dtype(elem_type)).max)
    x = node.input(0)
    found: list[str] = []
    if node.attr("detect_positive", 1):
        found.append(node.before("Greater", [x, typed(node, largest, elem_type, "largest")], what="positive"))
    if node.attr("detect_negative", 1):
        found.append(node.before("Less", [x, typed(node, -largest, elem_type, "smallest")], what="negative"))
    if len(found) == 2:
        node.become("Or", found)
    elif found:
        node.become("And", [found[0], found[0]])
    else:
        node.become("Less", [x, typed(node, -np.inf, elem_type, "nothing")])


@downgrade("Equal", 19)
def equal_strings(node: Node) -> None:
    """Strings are equal where Unique gives them one number; before 19, Equal compares numbers only."""
    if node.need_elem_type() != TensorProto.STRING:
        return
    flat = [node.before("Reshape", [name, int64(node, [-1], "flat")], what="flat") for name in node.inputs]
    both = node.before("Concat", flat, what="both", axis=0)
    numbers = node.before_many("Unique", [both], [node.fresh_name("unique"), "", node.fresh_name("numbers")], what="unique")[2]
    first = node.before("Size", [node.input(0)], what="size")
    first = node.before("Reshape", [first, int64(node, [1], "vector")], what="size")
    start, end = int64(node, [0], "start"), int64(node, [np.iinfo(np.int64).max], "end")
    parts = [node.before("Slice", [numbers, *bounds], what="part") for bounds in ((start, first), (first, end))]
    node.become("Equal", [_in_shape(node, part, index) for index, part in enumerate(parts)])


def _in_shape(node: Node, flat: str, index: int) -> str:
    """`flat` in the shape of input `index`; one that may hold zeros needs to say that they are none of the other's."""
    shape = node.shape(index)
    if shape is not None and len(shape) == 1:
        return flat
    known = [dim for dim in shape or () if isinstance(dim, int) and dim]
    if shape is not None and len(known) == len(shape):
        return node.before("Reshape", [flat, int64(node, known, "shape")], what="shaped")
    sizes = node.before("Shape", [node.input(index)], what="shape")
    return node.before("Reshape", [flat, sizes], what="shaped", allowzero=1)


@downgrade("Equal", 11)
def equal_numbers(node: Node) -> None:
    """Before 11 Equal takes no floating point: equal is neither less nor greater, and neither is NaN."""
    if node.need_elem_type() not in FLOATING:
        return
    a, b = node.inputs
    elem_type = node.need_elem_type()
    differ = _differ(node, a, b)
    numbers = [_is_number(node, name, elem_type) for name in dict.fromkeys((a, b))]
    comparable = numbers[0] if len(numbers) == 1 else node.before("And", numbers, what="comparable")
    same = node.before("Not", [differ], what="same")
    node.become("And", [same, comparable])


def _differ(node: Node, a: str, b: str) -> str:
    return node.before("Or", [node.before("Less", [a, b]), node.before("Greater", [a, b])], what="differ")


def _is_number(node: Node, name: str, elem_type: int) -> str:
    below = node.before("Less", [name, typed(node, 1, elem_type, "one")], what="below")
    above = node.before("Greater", [name, typed(node, 0, elem_type, "zero")], what="above")
    return node.before("Or", [below, above], what="number")


@downgrade(("Less", "Greater"), 9)
def compare_halves(node: Node) -> None:
    """Before 9 only floating point compares: the halves of a 64-bit integer are exact in double."""
    elem_type = node.need_elem_type()
    if elem_type not in WIDE_INTEGERS:
        return
    (high_a, low_a), (high_b, low_b) = (halves(node, name, elem_type) for name in node.inputs)
    first = node.before(node.op_type, [high_a, high_b], what="high")
    tie = node.before("Not", [_differ(node, high_a, high_b)], what="tie")
    second = node.before(node.op_type, [low_a, low_b], what="low")
    node.become("Or", [first, node.before("And", [tie, second], what="decided_low")])


def halves(node: Node, name: str, elem_type: int) -> tuple[str, str]:
    """`name` divided by 2**32 towards zero, and the rest, both as double: they order as the integers do."""
    base = typed(node, 2**32, elem_type, "base")
    high = node.before("Div", [name, base], what="high")
    low = node.before("Sub", [name, node.before("Mul", [high, base], what="rounded")], what="low")
    high, low = (node.before("Cast", [half], what="double", to=TensorProto.DOUBLE) for half in (high, low))
    return high, low


@decompose("Sign", opset=9)
def above_minus_below(node: Node) -> None:
    """One where it is above zero, less one where it is below."""
    elem_type = node.need_elem_type()
    zero = typed(node, 0, elem_type, "zero")
    above = node.before("Greater", [node.input(0), zero], what="above")
    below = node.before("Less", [node.input(0), zero], what="below")
    plus, minus = (node.before("Cast", [name], what="sign", to=TensorProto.FLOAT) for name in (above, below))
    node.become("Cast", [node.before("Sub", [plus, minus], what="sign")], to=elem_type)
