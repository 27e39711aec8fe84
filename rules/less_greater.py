"""Less and Greater: opset 9 adds the integers, of which floating point does not hold the 64-bit ones.

https://onnx.ai/onnx/operators/onnx__Less.html, https://onnx.ai/onnx/operators/onnx__Greater.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import WIDE_INTEGERS, halves, is_unequal


@downgrade(("Less", "Greater"), 9)
def compare_halves(node: Node) -> None:
    """64-bit integers are compared by their high halves, then by their low ones, as doubles, which hold them exactly."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in WIDE_INTEGERS:
        return
    (high_a, low_a), (high_b, low_b) = (halves(node, name, elem_type) for name in node.inputs)
    first = getattr(op, node.op_type)(high_a, high_b)
    tie = op.Not(is_unequal(node, high_a, high_b))
    second = getattr(op, node.op_type)(low_a, low_b)
    node.become.Or(first, op.And(tie, second))
