"""Round below opset 11: Ceil, minus 1 where that is nearer.

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
    """The node becomes Ceil(x), minus 1 where x is more than a half below it, or a half below it and Ceil(x) is odd.

    Ceil(x) - x is exact, except for x below 0.5, where it may be rounded up to a half, and Ceil(x) is 1, which is odd. For infinity
    and NaN the comparisons are false, so these stay, and so does -0.0. bfloat16 is refused.
    """
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        raise Unconvertible(f"older operators cannot round {type_name(elem_type)}")
    zero, half = (op.const(value, elem_type) for value in (0, 0.5))
    ceil = op.Ceil(node.input(0))
    rest = op.Sub(ceil, node.input(0))
    above = op.Greater(rest, half)
    at_least_half = op.Not(op.Less(rest, half))
    halved = op.Mul(ceil, half)
    odd = op.Greater(op.Sub(halved, op.Floor(halved)), zero)
    down = op.Or(above, op.And(at_least_half, odd))
    node.become.Sub(ceil, op.Cast(down, to=elem_type))
