"""Concat: the attribute axis is required from opset 4 on; before, its default is 1.

https://onnx.ai/onnx/operators/onnx__Concat.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import upgrade
from ..rewriter.graph.node import Node


@upgrade("Concat", 4)
def write_out_axis(node: Node) -> None:
    """axis=1 is written out, the default that the text of opset 1 states but its schema does not."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 1)
