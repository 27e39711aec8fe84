"""Rounds numbers to a floating-point type that is not available: the result is what a Cast to that type gives, in a wider type.

The spacing of the narrow type at each number is looked up in a table of powers of two, at the truncated logarithm. If the logarithm
is off by a few last bits, the next power is taken only close to a power of two, where both spacings give the same result. Dividing
and multiplying by a power of two is exact, so a single Round to even does all the rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onnx import TensorProto

from ...rewriter.graph.node import Node


class _Format(NamedTuple):
    """The numbers of a narrow floating-point type."""

    fraction: int
    """The number of bits of the fraction."""
    lowest: int
    """The exponent of the smallest normal number."""
    largest: float
    overflow: float
    """The result, without saturation, for numbers that are rounded to more than the largest number."""
    has_negative_zero: bool = True
    nan: float = math.nan

    @property
    def exponents(self) -> range:
        """The exponents of the normal numbers."""
        return range(self.lowest, math.frexp(self.largest)[1])


FLOAT8 = frozenset({TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ})
"""The 8-bit floating-point types to which the attribute saturate applies."""
FLOAT4E2M1, FLOAT8E8M0, FLOAT6E2M3, FLOAT6E3M2 = 23, 24, 27, 28
"""Numbers of TensorProto.DataType for which the oldest supported onnx has no names."""
FORMATS = {
    TensorProto.FLOAT8E4M3FN: _Format(3, -6, 448.0, math.nan),
    TensorProto.FLOAT8E4M3FNUZ: _Format(3, -7, 240.0, math.nan, has_negative_zero=False),
    TensorProto.FLOAT8E5M2: _Format(2, -14, 57344.0, math.inf),
    TensorProto.FLOAT8E5M2FNUZ: _Format(2, -15, 57344.0, math.nan, has_negative_zero=False),
    FLOAT4E2M1: _Format(1, 0, 6.0, 6.0, nan=0.0),
    FLOAT6E2M3: _Format(3, 0, 7.5, 7.5, nan=0.0),
    FLOAT6E3M2: _Format(2, -2, 28.0, 28.0, nan=0.0),
    TensorProto.BFLOAT16: _Format(7, -126, (2 - 2.0**-7) * 2.0**127, math.inf),
}
"""The types to which numbers can be rounded."""


def rounded(node: Node, x: str, kind: int, work: int = TensorProto.FLOAT, *, saturate: bool = True) -> str:
    """`x`, of type `work` (float or double), rounded to the nearest number of type `kind`, ties to even; the result has type
    `work`.

    Numbers that are too large become the largest number with `saturate`; without, NaN or infinity, whichever the type has. NaN
    stays NaN if the type has it.
    """
    op = node.op
    if not node.rounds_to(kind):
        return x
    form = FORMATS[kind]
    is_nan = op.IsNaN(x)
    step = _step(node, x, is_nan, form, work)
    steps = op.Round(op.Div(x, step))
    y = op.Mul(steps, step)
    if kind == TensorProto.BFLOAT16 and work == TensorProto.FLOAT:
        return y  # NaN stays NaN, and the range is that of float
    if saturate and kind != TensorProto.BFLOAT16:
        bounds = [op.const(bound, work) for bound in (-form.largest, form.largest)]
        y = op.Clip(y, *bounds)
    else:
        y = _unsaturated(node, y, form, work)
    if not form.has_negative_zero:
        zero = op.const(0.0, work)
        y = op.Where(op.Equal(y, zero), zero, y)
    return op.Where(is_nan, op.const(form.nan, work), y)


def rounded_to_power(node: Node, x: str, mode: str, work: int = TensorProto.FLOAT, *, saturate: bool = True) -> str:
    """`x`, of type `work` (float or double), rounded to a number of float8e8m0: a power of two from 2**-127 to 2**127, or NaN.

    `mode` is that of Cast: "up", "down", or "nearest" with ties going up. Numbers out of range become the smallest or largest
    number with `saturate`, else NaN. Negative numbers have no defined result.
    """
    op = node.op
    low, high = (op.const(2.0**exponent, work) for exponent in (-127, 127))
    is_nan = op.IsNaN(x)
    number = op.Where(is_nan, low, x)
    size = op.Clip(number, low, high)
    power = _nearest_power(node, size, work)
    if mode == "up":
        y = op.Where(op.Greater(size, power), op.Mul(power, op.const(2.0, work)), power)
    else:
        bound = op.Mul(power, op.const(0.75, work)) if mode == "nearest" else power
        y = op.Where(op.Less(size, bound), op.Mul(power, op.const(0.5, work)), power)
    if not saturate:
        is_nan = op.Or(is_nan, op.Or(op.Less(number, low), op.Greater(number, high)))
    return op.Where(is_nan, op.const(math.nan, work), y)


def _nearest_power(node: Node, size: str, work: int) -> str:
    """The power of two whose logarithm is nearest to that of `size`; if two are equally near, either of them.

    Logarithms are computed in double, because runtimes may treat subnormal float numbers as the smallest normal one.
    """
    op, double = node.op, TensorProto.DOUBLE
    wide = size if work == double else op.Cast(size, to=double)
    exponent = op.Mul(op.Log(wide), op.const(1 / math.log(2), double))
    place = op.Cast(op.Add(exponent, op.const(127.5, double)), to=TensorProto.INT64)
    table = op.const([2.0**exponent for exponent in range(-127, 128)], work)
    return op.Gather(table, place, axis=0)


def _unsaturated(node: Node, y: str, form: _Format, work: int) -> str:
    """`y` with infinity or NaN in place of numbers that are too large."""
    op = node.op
    size = op.Abs(y)
    is_over = op.Greater(size, op.const(form.largest, work))
    over = op.Mul(y, op.const(form.overflow, work))
    return op.Where(is_over, over, y)


def _step(node: Node, x: str, is_nan: str, form: _Format, work: int) -> str:
    """The distance between neighbouring numbers of the narrow type at `x`; any distance where `x` is not a number."""
    op = node.op
    first, last = form.exponents[0], form.exponents[-1]
    size = op.Where(is_nan, op.const(1.0, work), op.Abs(x))
    bounds = [op.const(1.5 * 2.0**exponent, work) for exponent in (first, last)]
    log = op.Log(op.Clip(size, *bounds))
    exponent = op.Mul(log, op.const(1 / math.log(2), work))
    place = op.Sub(exponent, op.const(first, work))
    place = op.Cast(place, to=TensorProto.INT64)
    steps = [2.0 ** (exponent - form.fraction) for exponent in form.exponents]
    table = op.const(steps, work)
    return op.Gather(table, place, axis=0)


def become_value(node: Node, value: str) -> None:
    """Make `value` the output of the node.

    If a rule made the node of `value`, that gives it directly; else the node becomes an Identity.
    """
    node.give(value)
