"""IsNaN below opset 9: two comparisons, both of which are false for NaN alone.

https://onnx.ai/onnx/operators/onnx__IsNaN.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import need_floating, typed


@decompose("IsNaN", opset=7)
def compare_with_zero_and_one(node: Node) -> None:
    """An element is NaN where it is neither less than 1 nor greater than 0."""
    elem_type = need_floating(node)
    below = node.before("Less", [node.input(0), typed(node, 1, elem_type, "one")], what="below")
    above = node.before("Greater", [node.input(0), typed(node, 0, elem_type, "zero")], what="above")
    node.become("Not", [node.before("Or", [below, above], what="number")])
