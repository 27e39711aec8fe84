"""Round below opset 11: Floor of the magnitude, and the step up where it is due.

https://onnx.ai/onnx/operators/onnx__Round.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import avoid, decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING, type_name


@avoid("Round", "Round", opset=7)
@decompose("Round", opset=7)
def nearest_even(node: Node) -> None:
    """Floor of the magnitude, plus one above the half, or at the half where Floor is odd; then the sign.

    |x| - Floor(|x|) is exact. Infinity and NaN compare false and stay; -0.0 becomes 0.0, which is equal.
    """
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        raise Unconvertible(f"older operators cannot round {type_name(elem_type)}")
    zero, half, one, two = (op.const(value, elem_type) for value in (0, 0.5, 1, 2))
    magnitude = op.Abs(node.input(0))
    floor = op.Floor(magnitude)
    rest = op.Sub(magnitude, floor)
    halved = op.Mul(floor, half)
    odd = op.Sub(halved, op.Floor(halved))
    above = op.Greater(rest, half)
    below = op.Less(rest, half)
    at_half = op.Not(op.Or(above, below))
    to_even = op.And(at_half, op.Greater(odd, zero))
    up = op.Or(above, to_even)
    step = op.Cast(up, to=elem_type)
    rounded = op.Add(floor, step)
    negative = op.Cast(op.Less(node.input(0), zero), to=elem_type)
    sign = op.Sub(one, op.Mul(negative, two))
    node.become.Mul(rounded, sign)
