"""Less and Greater: opset 9 adds integers. Floating-point types cannot hold all 64-bit integers.

LessOrEqual and GreaterOrEqual came with opset 12.

https://onnx.ai/onnx/operators/onnx__Less.html, https://onnx.ai/onnx/operators/onnx__Greater.html,
https://onnx.ai/onnx/operators/onnx__LessOrEqual.html, https://onnx.ai/onnx/operators/onnx__GreaterOrEqual.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose, downgrade
from ..rewriter.graph.node import Node
from .shared.typed import ANY_FLOATING, WIDE_INTEGERS, are_numbers, halves, is_unequal


@downgrade(("Less", "Greater"), 9)
def compare_halves(node: Node) -> None:
    """64-bit integers are compared by their high halves, then by their low halves, as doubles, which hold these exactly."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type not in WIDE_INTEGERS:
        return
    (high_a, low_a), (high_b, low_b) = (halves(node, name, elem_type) for name in node.inputs)
    first = getattr(op, node.op_type)(high_a, high_b)
    tie = op.Not(is_unequal(node, high_a, high_b))
    second = getattr(op, node.op_type)(low_a, low_b)
    node.become.Or(first, op.And(tie, second))


@decompose(("GreaterOrEqual", "LessOrEqual"), opset=11)
def not_less(node: Node) -> None:
    """For integers, the node becomes Not of the opposite; for floats, it is written out such that NaN gives false."""
    op, is_floating = node.op, node.need_elem_type() in ANY_FLOATING
    beyond, short = ("Greater", "Less") if node.op_type == "GreaterOrEqual" else ("Less", "Greater")
    if is_floating and node.target >= 11:
        node.become.Or(getattr(op, beyond)(*node.inputs), op.Equal(*node.inputs))
        return
    is_short = getattr(op, short)(*node.inputs)
    if is_floating:
        comparable = are_numbers(node, *node.inputs)
        node.become.And(op.Not(is_short), comparable)
    else:
        node.become.Not(is_short)
