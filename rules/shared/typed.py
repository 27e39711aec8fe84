"""Element types, constants of a given type, and comparisons that older opsets have.

Every comparison with NaN is false, and opset 7 compares floating point only.
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

FLOATING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
"""The floating-point types that the oldest opsets have."""
ANY_FLOATING = (*FLOATING, TensorProto.BFLOAT16)
"""The floating-point types of more than 8 bits."""
WIDE_INTEGERS = (TensorProto.INT64, TensorProto.UINT64)
"""The integer types that no floating-point type holds."""


def typed(node: Node, value: float | int, elem_type: int, what: str) -> str:
    """A scalar constant of `elem_type`."""
    return node.add_constant(value, helper.tensor_dtype_to_np_dtype(elem_type), what)


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
    return node.before("Or", [node.before("Less", [a, b]), node.before("Greater", [a, b])], what="differ")


def halves(node: Node, name: str, elem_type: int) -> tuple[str, str]:
    """`name`, an integer of 64 bits, divided by 2**32 towards zero, and the rest, both as double: the pairs order as the integers
    do.
    """
    base = typed(node, 2**32, elem_type, "base")
    high = node.before("Div", [name, base], what="high")
    low = node.before("Sub", [name, node.before("Mul", [high, base], what="rounded")], what="low")
    high, low = (node.before("Cast", [half], what="double", to=TensorProto.DOUBLE) for half in (high, low))
    return high, low
