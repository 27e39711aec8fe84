"""IsNaN below opset 9: two comparisons, both of which are false for NaN alone.

https://onnx.ai/onnx/operators/onnx__IsNaN.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import need_floating


@decompose("IsNaN", opset=7)
def compare_with_zero_and_one(node: Node) -> None:
    """An element is NaN where it is neither less than 1 nor greater than 0."""
    op = node.op
    elem_type = need_floating(node)
    below = op.Less(node.input(0), op.const(1, elem_type))
    above = op.Greater(node.input(0), op.const(0, elem_type))
    node.become.Not(op.Or(below, above))
