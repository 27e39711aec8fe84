"""Element types, constants of a given type, and comparisons that older opsets have.

Every comparison with NaN is false, and opset 7 compares floating point only.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

FLOATING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
"""The floating-point types that the oldest opsets have."""
ANY_FLOATING = (*FLOATING, TensorProto.BFLOAT16)
"""The floating-point types of more than 8 bits."""
WIDE_INTEGERS = (TensorProto.INT64, TensorProto.UINT64)
"""The integer types that no floating-point type holds."""


def type_name(elem_type: int) -> str:
    """The name of an element type as messages show it: "float16"."""
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


def halves(node: Node, name: str, elem_type: int) -> tuple[str, str]:
    """`name`, an integer of 64 bits, divided by 2**32 towards zero, and the rest, both as double: the pairs order as the integers
    do.
    """
    op = node.op
    base = op.const(2**32, elem_type)
    high = op.Div(name, base)
    low = op.Sub(name, op.Mul(high, base))
    high, low = (op.Cast(half, to=TensorProto.DOUBLE) for half in (high, low))
    return high, low
