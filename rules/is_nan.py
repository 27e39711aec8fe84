"""Tests and comparisons of numbers, written with the comparisons that older opsets have.

https://onnx.ai/onnx/operators/ (IsNaN, IsInf, Sign, Equal, Less, Greater). Nothing compares with NaN but by being false, and
opset 7 compares floating point only.
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import need_floating, typed


@decompose("IsNaN", opset=7)
def neither_below_one_nor_above_zero(node: Node) -> None:
    """Every number is below one or above zero; NaN is neither."""
    elem_type = need_floating(node)
    below = node.before("Less", [node.input(0), typed(node, 1, elem_type, "one")], what="below")
    above = node.before("Greater", [node.input(0), typed(node, 0, elem_type, "zero")], what="above")
    node.become("Not", [node.before("Or", [below, above], what="number")])
