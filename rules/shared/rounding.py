"""Numbers rounded to a floating-point type that is not there: the value that a Cast to it would give, in a wider type.

The spacing of the narrow type at each number comes from a table of powers of two, whose place is the truncated logarithm. A
logarithm that is off by a few last bits leads to the next power only right beside a power of two, and there both spacings round to
the same number. Dividing by a power of two and multiplying by it is exact, so one Round to even does all the rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onnx import TensorProto

from ...rewriter.graph.node import Node


class _Format(NamedTuple):
    """What numbers a narrow floating-point type has."""

    fraction: int
    """Bits of its fraction."""
    lowest: int
    """The exponent of its smallest normal number."""
    largest: float
    overflow: float
    """What numbers that round to more than the largest become where they do not saturate."""
    has_negative_zero: bool = True
    nan: float = math.nan

    @property
    def exponents(self) -> range:
        """The exponents of its normal numbers."""
        return range(self.lowest, math.frexp(self.largest)[1])


FLOAT8 = frozenset({TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ})
"""The floating-point types of 8 bits that the attribute saturate is about."""
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
"""The types that numbers can be rounded to."""


def rounded(node: Node, x: str, kind: int, work: int = TensorProto.FLOAT, *, saturate: bool = True) -> str:
    """`x`, of type `work` (float or double), rounded to the nearest number of type `kind`, ties to even, still of type `work`.

    What is too large becomes the largest number with `saturate`, else NaN or infinity, as the type has it. NaN stays NaN where the
    type has it.
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
    """`x`, of type `work` (float or double), rounded to a number of float8e8m0, the powers of two from 2**-127 to 2**127 and NaN.

    `mode` is that of Cast: "up", "down", or "nearest" with ties going up. What is out of range becomes the smallest or the largest
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
    """The power of two whose logarithm is nearest to that of `size`; where two are as near, either.

    Logarithms are computed in double, because runtimes may take subnormal numbers of float for the smallest normal one.
    """
    op, double = node.op, TensorProto.DOUBLE
    wide = size if work == double else op.Cast(size, to=double)
    exponent = op.Mul(op.Log(wide), op.const(1 / math.log(2), double))
    place = op.Cast(op.Add(exponent, op.const(127.5, double)), to=TensorProto.INT64)
    table = op.const([2.0**exponent for exponent in range(-127, 128)], work)
    return op.Gather(table, place, axis=0)


def _unsaturated(node: Node, y: str, form: _Format, work: int) -> str:
    """`y` with infinity or NaN in place of what is too large."""
    op = node.op
    size = op.Abs(y)
    is_over = op.Greater(size, op.const(form.largest, work))
    over = op.Mul(y, op.const(form.overflow, work))
    return op.Where(is_over, over, y)


def _step(node: Node, x: str, is_nan: str, form: _Format, work: int) -> str:
    """The distance of neighbouring numbers of the narrow type at `x`, or some distance for what is not a number."""
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
    """Let `value` be what the node makes: the node goes where a rule made that for it, else it is an Identity."""
    if node.scope.rename_made(value, node.output(0)):
        node.remove()
    else:
        node.become.Identity(value)
