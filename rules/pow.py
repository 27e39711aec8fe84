"""Pow: opset 12 adds the integers, and an exponent of another type than the base.

https://onnx.ai/onnx/operators/onnx__Pow.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.typed import FLOATING


@downgrade("Pow", 12)
def power_in_one_type(node: Node) -> None:
    """Base and exponent of two types, or of integers, are computed in double; int64 to an integer power is a product."""
    base, exponent = node.need_elem_type(), node.need_elem_type(1)
    if base == exponent and base in FLOATING:
        return
    if base == TensorProto.INT64 and (exponent not in FLOATING or _is_square_or_cube(node)):
        _multiply(node)
        return
    inputs = [node.before("Cast", [name], what="double", to=TensorProto.DOUBLE) for name in node.inputs]
    node.become("Cast", [node.before("Pow", inputs, what="power")], to=base)
    node.approximate = True


def _is_square_or_cube(node: Node) -> bool:
    """Whether the exponent is 2 or 3, which onnxruntime multiplies out in the type of the base, too."""
    exponent = node.constant(1)
    return exponent is not None and exponent.size == 1 and exponent.item() in (2, 3)


_BITS_OF_EXPONENTS = 6
"""Bits of an exponent that are looked at: an exponent above 63 makes every power overflow int64 but those of 0, 1 and -1."""


def _multiply(node: Node) -> None:
    """Let the node be x^e modulo 2**64: the product of those of x, x^2, x^4, … whose bit is set in e.

    x^-e is 0, but for 1 and -1.
    """
    x, one, two = node.input(0), int64(node, 1, "one"), int64(node, 2, "two")
    e = node.before("Cast", [node.input(1)], what="exponent", to=TensorProto.INT64)
    left = _reduced_exponent(node, e, one, two)
    square, result = x, ""
    for bit in range(_BITS_OF_EXPONENTS):
        if bit:
            square = node.before("Mul", [square, square], what="square")
        is_set, left = _odd(node, left, two)
        less = node.before("Sub", [square, one], what="less")
        factor = node.before("Add", [node.before("Mul", [is_set, less], what="more"), one], what="factor")
        result = node.before("Mul", [result, factor], what="product") if bit else factor
    is_unit = node.before("Equal", [node.before("Mul", [x, x], what="square"), one], what="is_unit")
    is_below = node.before("Less", [e, int64(node, 0, "zero")], what="is_below")
    is_fraction = node.before("And", [is_below, node.before("Not", [is_unit], what="is_large")], what="is_fraction")
    is_whole = node.before("Cast", [node.before("Not", [is_fraction], what="is_whole")], what="is_whole", to=TensorProto.INT64)
    node.become("Mul", [result, is_whole])


def _reduced_exponent(node: Node, e: str, one: str, two: str) -> str:
    """|e|, or where that has more bits than are looked at, 62 or 63, whichever is odd or even as e is."""
    size = node.before("Abs", [e], what="size")
    largest = int64(node, 2**_BITS_OF_EXPONENTS - 1, "largest")
    is_odd, _ = _odd(node, size, two)
    last = node.before("Add", [is_odd, node.before("Sub", [largest, one], what="even")], what="last")
    is_beyond = node.before("Cast", [node.before("Greater", [size, largest], what="beyond")], what="beyond", to=TensorProto.INT64)
    way = node.before("Mul", [is_beyond, node.before("Sub", [last, size], what="way")], what="way")
    return node.before("Add", [size, way], what="reduced")


def _odd(node: Node, number: str, two: str) -> tuple[str, str]:
    """The lowest bit of `number`, and the number without it, halved."""
    half = node.before("Div", [number, two], what="half")
    return node.before("Sub", [number, node.before("Mul", [half, two], what="even")], what="odd"), half
