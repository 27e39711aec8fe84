"""Tests and comparisons of numbers, written with the comparisons that older opsets have.

https://onnx.ai/onnx/operators/ (IsNaN, IsInf, Sign, Equal, Less, Greater). Nothing compares with NaN but by being false, and
opset 7 compares floating point only.
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import WIDE_INTEGERS, halves, is_unequal


@downgrade(("Less", "Greater"), 9)
def compare_halves(node: Node) -> None:
    """Before 9 only floating point compares: the halves of a 64-bit integer are exact in double."""
    elem_type = node.need_elem_type()
    if elem_type not in WIDE_INTEGERS:
        return
    (high_a, low_a), (high_b, low_b) = (halves(node, name, elem_type) for name in node.inputs)
    first = node.before(node.op_type, [high_a, high_b], what="high")
    tie = node.before("Not", [is_unequal(node, high_a, high_b)], what="tie")
    second = node.before(node.op_type, [low_a, low_b], what="low")
    node.become("Or", [first, node.before("And", [tie, second], what="decided_low")])
