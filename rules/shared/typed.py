"""Element types, constants of a given type, and comparisons with operators of old opsets.

Every comparison with NaN is false, and opset 7 can compare only floating-point numbers.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

FLOATING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
"""The floating-point types of the oldest opsets."""
ANY_FLOATING = (*FLOATING, TensorProto.BFLOAT16)
"""The floating-point types with more than 8 bits."""
WIDE_INTEGERS = (TensorProto.INT64, TensorProto.UINT64)
"""The integer types that no floating-point type can hold."""


def type_name(elem_type: int) -> str:
    """The name of an element type in messages: "float16"."""
    return TensorProto.DataType.Name(elem_type).lower()  # type: ignore[arg-type] - the stubs have a type of their own for it


def need_floating(node: Node) -> int:
    """The element type of input 0. Raises Unconvertible where older operators cannot compare it."""
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        raise Unconvertible(f"older operators cannot compare {type_name(elem_type)}", "cast to float before it")
    return elem_type


def is_unequal(node: Node, a: str, b: str) -> str:
    """Whether `a` is less or greater than `b`; false for NaN."""
    op = node.op
    return op.Or(op.Less(a, b), op.Greater(a, b))


def are_numbers(node: Node, a: str, b: str) -> str:
    """Whether neither `a` nor `b`, floating-point values of one type, is NaN."""
    tests = [_is_number(node, name) for name in dict.fromkeys((a, b))]
    return tests[0] if len(tests) == 1 else node.op.And(*tests)


def _is_number(node: Node, name: str) -> str:
    """Whether each element of `name` is not NaN: every number is below one or above zero. Fewer runtimes support IsNaN."""
    op, elem_type = node.op, node.need_elem_type()
    below = op.Less(name, op.const(1, elem_type))
    above = op.Greater(name, op.const(0, elem_type))
    return op.Or(below, above)


def halves(node: Node, name: str, elem_type: int) -> tuple[str, str]:
    """`name`, a 64-bit integer, divided by 2**32 towards zero, and the rest, both as double.

    These pairs have the order of the integers.
    """
    op = node.op
    base = op.const(2**32, elem_type)
    high = op.Div(name, base)
    low = op.Sub(name, op.Mul(high, base))
    high, low = (op.Cast(half, to=TensorProto.DOUBLE) for half in (high, low))
    return high, low
