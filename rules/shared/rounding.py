"""Numbers rounded to a floating-point type that is not there: the value that a Cast to it would give, in a wider type.

The spacing of the narrow type at each number comes from a table of powers of two, whose place is the truncated logarithm. A
logarithm that is off by a few last bits leads to the next power only right beside a power of two, and there both spacings round to
the same number. Dividing by a power of two and multiplying by it is exact, so one Round to even does all the rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onnx import TensorProto, helper

from ...rewriter.graph.node import Node
from .typed import typed


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
    if not node.rounds_to(kind):
        return x
    form = FORMATS[kind]
    is_nan = node.before("IsNaN", [x], what="is_nan")
    step = _step(node, x, is_nan, form, work)
    steps = node.before("Round", [node.before("Div", [x, step], what="steps")], what="steps")
    y = node.before("Mul", [steps, step], what="rounded")
    if kind == TensorProto.BFLOAT16 and work == TensorProto.FLOAT:
        return y  # NaN stays NaN, and the range is that of float
    if saturate and kind != TensorProto.BFLOAT16:
        bounds = [typed(node, bound, work, "bound") for bound in (-form.largest, form.largest)]
        y = node.before("Clip", [y, *bounds], what="saturated")
    else:
        y = _unsaturated(node, y, form, work)
    if not form.has_negative_zero:
        zero = typed(node, 0.0, work, "zero")
        y = node.before("Where", [node.before("Equal", [y, zero], what="is_zero"), zero, y], what="unsigned_zero")
    return node.before("Where", [is_nan, typed(node, form.nan, work, "nan"), y], what="as_nan")


def rounded_to_power(node: Node, x: str, mode: str, work: int = TensorProto.FLOAT, *, saturate: bool = True) -> str:
    """`x`, of type `work` (float or double), rounded to a number of float8e8m0, the powers of two from 2**-127 to 2**127 and NaN.

    `mode` is that of Cast: "up", "down", or "nearest" with ties going up. What is out of range becomes the smallest or the largest
    number with `saturate`, else NaN. Negative numbers have no defined result.
    """
    low, high = (typed(node, 2.0**exponent, work, "bound") for exponent in (-127, 127))
    is_nan = node.before("IsNaN", [x], what="is_nan")
    number = node.before("Where", [is_nan, low, x], what="number")
    size = node.before("Clip", [number, low, high], what="size")
    power = _nearest_power(node, size, work)
    factor, operator = _OTHER_POWER[mode]
    bound = node.before("Mul", [power, typed(node, 0.75, work, "tie")], what="tie") if mode == "nearest" else power
    other = node.before("Mul", [power, typed(node, factor, work, "factor")], what="other")
    y = node.before("Where", [node.before(operator, [size, bound], what="is_other"), other, power], what="power")
    if not saturate:
        beyond = [node.before("Less", [number, low], what="below"), node.before("Greater", [number, high], what="above")]
        is_nan = node.before("Or", [is_nan, node.before("Or", beyond, what="beyond")], what="is_nan")
    return node.before("Where", [is_nan, typed(node, math.nan, work, "nan"), y], what="as_nan")


_OTHER_POWER = {"up": (2.0, "Greater"), "down": (0.5, "Less"), "nearest": (0.5, "Less")}
"""The factor that leads from the nearest power of two to the other one that may be meant, and how `x` compares with it then."""


def _nearest_power(node: Node, size: str, work: int) -> str:
    """The power of two whose logarithm is nearest to that of `size`; where two are as near, either.

    Logarithms are computed in double, because runtimes may take subnormal numbers of float for the smallest normal one.
    """
    double = TensorProto.DOUBLE
    wide = size if work == double else node.before("Cast", [size], what="double", to=double)
    log = node.before("Log", [wide], what="log")
    exponent = node.before("Mul", [log, typed(node, 1 / math.log(2), double, "per_log")], what="exponent")
    place = node.before("Add", [exponent, typed(node, 127.5, double, "lowest")], what="place")
    place = node.before("Cast", [place], what="place", to=TensorProto.INT64)
    table = node.add_constant([2.0**exponent for exponent in range(-127, 128)], helper.tensor_dtype_to_np_dtype(work), "powers")
    return node.before("Gather", [table, place], what="power", axis=0)


def _unsaturated(node: Node, y: str, form: _Format, work: int) -> str:
    """`y` with infinity or NaN in place of what is too large."""
    size = node.before("Abs", [y], what="size")
    is_over = node.before("Greater", [size, typed(node, form.largest, work, "bound")], what="over")
    over = node.before("Mul", [y, typed(node, form.overflow, work, "overflow")], what="overflow")
    return node.before("Where", [is_over, over, y], what="limited")


def _step(node: Node, x: str, is_nan: str, form: _Format, work: int) -> str:
    """The distance of neighbouring numbers of the narrow type at `x`, or some distance for what is not a number."""
    first, last = form.exponents[0], form.exponents[-1]
    size = node.before("Where", [is_nan, typed(node, 1.0, work, "one"), node.before("Abs", [x], what="size")], what="size")
    bounds = [typed(node, 1.5 * 2.0**exponent, work, "bound") for exponent in (first, last)]
    log = node.before("Log", [node.before("Clip", [size, *bounds], what="size")], what="log")
    exponent = node.before("Mul", [log, typed(node, 1 / math.log(2), work, "per_log")], what="exponent")
    place = node.before("Sub", [exponent, typed(node, first, work, "lowest")], what="place")
    place = node.before("Cast", [place], what="place", to=TensorProto.INT64)
    steps = [2.0 ** (exponent - form.fraction) for exponent in form.exponents]
    table = node.add_constant(steps, helper.tensor_dtype_to_np_dtype(work), "steps")
    return node.before("Gather", [table, place], what="step", axis=0)


def become_value(node: Node, value: str) -> None:
    """Let `value` be what the node makes: the node goes where a rule made that for it, else it is an Identity."""
    if node.scope.rename_made(value, node.output(0)):
        node.remove()
    else:
        node.become("Identity", [value])
