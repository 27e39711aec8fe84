"""Max and Min: opset 12 adds integers. Floating-point types cannot hold all 64-bit integers.

https://onnx.ai/onnx/operators/onnx__Max.html, https://onnx.ai/onnx/operators/onnx__Min.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import WIDE_INTEGERS


@downgrade(("Max", "Min"), 12)
def compare_integers(node: Node) -> None:
    """64-bit integers, which no floating-point type holds, are compared two at a time and chosen by Where."""
    if node.elem_type() not in WIDE_INTEGERS:
        return
    comparison = "Greater" if node.op_type == "Max" else "Less"
    chosen, *others = node.inputs
    for other in others:
        is_chosen = getattr(node.op, comparison)(chosen, other)
        chosen = node.op.Where(is_chosen, chosen, other)
    node.become.Identity(chosen)
