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


FLOAT4E2M1 = 23
"""TensorProto.FLOAT4E2M1, which onnx before 1.18 does not have."""
FORMATS = {
    TensorProto.FLOAT8E4M3FN: _Format(3, -6, 448.0, math.nan),
    TensorProto.FLOAT8E4M3FNUZ: _Format(3, -7, 240.0, math.nan, has_negative_zero=False),
    TensorProto.FLOAT8E5M2: _Format(2, -14, 57344.0, math.inf),
    TensorProto.FLOAT8E5M2FNUZ: _Format(2, -15, 57344.0, math.nan, has_negative_zero=False),
    FLOAT4E2M1: _Format(1, 0, 6.0, 6.0, nan=0.0),
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
