"""Pow: opset 12 adds the integers, and an exponent of another type than the base.

https://onnx.ai/onnx/operators/onnx__Pow.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING


@downgrade("Pow", 12)
def power_in_one_type(node: Node) -> None:
    """Base and exponent of two types, or integers, are computed in double; int64 to an integer power becomes a product."""
    base, exponent = node.need_elem_type(), node.need_elem_type(1)
    if base == exponent and base in FLOATING:
        return
    if base == TensorProto.INT64 and (exponent not in FLOATING or _is_square_or_cube(node)):
        _multiply(node)
        return
    if base in FLOATING and (one_type := _exponent_of_type(node, base)):
        node.approximate = not _is_square_or_cube(node)
        node.become.Pow(node.input(0), one_type)
        return
    inputs = [node.op.Cast(name, to=TensorProto.DOUBLE) for name in node.inputs]
    node.become.Cast(node.op.Pow(*inputs), to=base)
    node.approximate = True


def _is_square_or_cube(node: Node) -> bool:
    """Whether the exponent is 2 or 3, for which onnxruntime multiplies in the type of the base too."""
    exponent = node.constant(1)
    return exponent is not None and exponent.size == 1 and exponent.item() in (2, 3)


def _exponent_of_type(node: Node, kind: int) -> str:
    """A constant exponent as type `kind`, or "" where it is not constant or `kind` cannot hold it."""
    known = node.constant(1)
    if known is None:
        return ""
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = known.astype(helper.tensor_dtype_to_np_dtype(kind))
        is_held = (exponent.astype(known.dtype) == known).all()
    return node.op.const(exponent, kind) if is_held else ""


_BITS_OF_EXPONENTS = 6
"""The number of bits of an exponent that matter: above 63, every power overflows int64, except those of 0, 1 and -1."""


def _multiply(node: Node) -> None:
    """Turn the node into x^e modulo 2**64: the product of those of x, x², x⁴, … whose bit is set in e.

    x^-e is 0, except for 1 and -1.
    """
    op = node.op
    x, one, two = node.input(0), op.int64(1), op.int64(2)
    e = op.Cast(node.input(1), to=TensorProto.INT64)
    left = _reduced_exponent(node, e, one, two)
    square, result = x, ""
    for bit in range(_BITS_OF_EXPONENTS):
        if bit:
            square = op.Mul(square, square)
        is_set, left = _odd(node, left, two)
        less = op.Sub(square, one)
        factor = op.Add(op.Mul(is_set, less), one)
        result = op.Mul(result, factor) if bit else factor
    is_unit = op.Equal(op.Mul(x, x), one)
    is_below = op.Less(e, op.int64(0))
    is_fraction = op.And(is_below, op.Not(is_unit))
    is_whole = op.Cast(op.Not(is_fraction), to=TensorProto.INT64)
    node.become.Mul(result, is_whole)


def _reduced_exponent(node: Node, e: str, one: str, two: str) -> str:
    """|e|; if that has more bits than matter, 62 or 63 instead, even or odd as e is."""
    op = node.op
    size = op.Abs(e)
    largest = op.int64(2**_BITS_OF_EXPONENTS - 1)
    is_odd, _ = _odd(node, size, two)
    last = op.Add(is_odd, op.Sub(largest, one))
    is_beyond = op.Cast(op.Greater(size, largest), to=TensorProto.INT64)
    way = op.Mul(is_beyond, op.Sub(last, size))
    return op.Add(size, way)


def _odd(node: Node, number: str, two: str) -> tuple[str, str]:
    """The lowest bit of `number`, and the rest, halved."""
    op = node.op
    half = op.Div(number, two)
    return op.Sub(number, op.Mul(half, two)), half
