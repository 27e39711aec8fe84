"""BitCast below opset 26: between integers of the same width, and from integers to floating-point numbers.

https://onnx.ai/onnx/operators/onnx__BitCast.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.integers import BITS, UNSIGNED


class _Layout(NamedTuple):
    """The number of bits of an IEEE floating-point type, and how many of them are the fraction."""

    bits: int
    fraction: int

    @property
    def exponents(self) -> int:
        """The number of values of the exponent."""
        return 2 ** (self.bits - 1 - self.fraction)

    @property
    def powers(self) -> list[float]:
        """The factor of the significand for each exponent: first for a fraction of zero, then for any other fraction."""
        bias = self.exponents // 2 - 1 + self.fraction
        finite = [2.0 ** (max(exponent, 1) - bias) for exponent in range(self.exponents - 1)]
        return [*finite, np.inf, *finite, np.nan]


_LAYOUTS = {
    TensorProto.FLOAT16: _Layout(16, 10),
    TensorProto.BFLOAT16: _Layout(16, 7),
    TensorProto.FLOAT: _Layout(32, 23),
    TensorProto.DOUBLE: _Layout(64, 52),
}
"""The layout of each floating-point type that BitCast can produce here."""


@decompose("BitCast", opset=24)
def cast_of_the_same_width(node: Node) -> None:
    """Integers of the same width, and booleans, are cast; floating-point numbers are computed from sign, exponent and fraction.

    A cast from floating point to integers is refused: NaN has many bit patterns, which arithmetic cannot tell apart.
    """
    source, target = node.need_elem_type(), node.attr("to")
    if source == target:
        node.become.Identity(node.input(0))
    elif BITS.get(target) == (8 if source == TensorProto.BOOL else BITS.get(source, 0)):
        node.become.Cast(node.input(0), to=target)
    elif source in BITS and target in _LAYOUTS and BITS[source] == _LAYOUTS[target].bits:
        node.become.Cast(_float_of(node, _LAYOUTS[target]), to=target)
    else:
        raise Unconvertible("older operators cannot read the bits of a floating point number, or of numbers of another width")


def _float_of(node: Node, layout: _Layout) -> str:
    """The floating-point number with the bits of input 0, as double. Exponent and fraction are looked up in constant tables."""
    op = node.op
    signed = next(kind for kind, bits in BITS.items() if bits == layout.bits and kind not in UNSIGNED)
    number = op.Cast(node.input(0), to=signed)
    number = op.Cast(number, to=TensorProto.INT64)
    negative = op.Less(number, op.int64(0))
    negative = op.Cast(negative, to=TensorProto.INT64)
    lowest = op.Mul(negative, op.int64(-(2 ** (layout.bits - 1))))
    number = op.Sub(number, lowest)
    unit = op.int64(2**layout.fraction)
    exponent = op.Div(number, unit)
    fraction = op.Sub(number, op.Mul(exponent, unit))
    some = op.Cast(op.Cast(fraction, to=TensorProto.BOOL), to=TensorProto.INT64)
    row = op.Mul(some, op.int64(layout.exponents))
    place = op.Add(exponent, row)
    hidden = op.int64([0] + [2**layout.fraction] * (layout.exponents - 1))
    significand = op.Add(fraction, op.Gather(hidden, exponent, axis=0))
    significand = op.Cast(significand, to=TensorProto.DOUBLE)
    power = op.Gather(op.const(layout.powers, np.float64), place, axis=0)
    sign = op.Gather(op.const([1, -1], np.float64), negative, axis=0)
    return op.Mul(op.Mul(significand, power), sign)
