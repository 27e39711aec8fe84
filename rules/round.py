"""Round below opset 11: Floor of the magnitude, and the step up where it is due.

https://onnx.ai/onnx/operators/onnx__Round.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING, type_name, typed


@decompose("Round", opset=7)
def nearest_even(node: Node) -> None:
    """Floor of the magnitude, plus one above the half, or at the half where Floor is odd; then the sign.

    |x| - Floor(|x|) is exact. Infinity and NaN compare false and stay; -0.0 becomes 0.0, which is equal.
    """
    elem_type = node.need_elem_type()
    if elem_type not in FLOATING:
        raise Unconvertible(f"older operators cannot round {type_name(elem_type)}")
    zero, half, one, two = (typed(node, value, elem_type, f"c{value}") for value in (0, 0.5, 1, 2))
    magnitude = node.before("Abs", [node.input(0)], what="magnitude")
    floor = node.before("Floor", [magnitude], what="floor")
    rest = node.before("Sub", [magnitude, floor], what="rest")
    halved = node.before("Mul", [floor, half], what="halved")
    odd = node.before("Sub", [halved, node.before("Floor", [halved], what="pairs")], what="odd")
    above = node.before("Greater", [rest, half], what="above")
    below = node.before("Less", [rest, half], what="below")
    at_half = node.before("Not", [node.before("Or", [above, below], what="off")], what="at_half")
    to_even = node.before("And", [at_half, node.before("Greater", [odd, zero], what="is_odd")], what="to_even")
    up = node.before("Or", [above, to_even], what="up")
    step = node.before("Cast", [up], what="step", to=elem_type)
    rounded = node.before("Add", [floor, step], what="rounded")
    negative = node.before("Cast", [node.before("Less", [node.input(0), zero], what="negative")], what="negative", to=elem_type)
    sign = node.before("Sub", [one, node.before("Mul", [negative, two], what="twice")], what="sign")
    node.become("Mul", [rounded, sign])
