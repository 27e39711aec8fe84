"""Swish below opset 24.

https://onnx.ai/onnx/operators/onnx__Swish.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("Swish", opset=13, exact=False)
def times_a_sigmoid(node: Node) -> None:
    """The node becomes x * sigmoid(alpha * x)."""
    op = node.op
    kind, alpha, x = node.need_elem_type(), node.attr("alpha", 1.0), node.input(0)
    scaled = x if alpha == 1 else op.Mul(x, op.const(alpha, kind))
    node.become.Mul(x, op.Sigmoid(scaled))
