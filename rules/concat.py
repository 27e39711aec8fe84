"""Concat: the axis has to be given from opset 4 on; in 1 it is 1 unless it is given.

https://onnx.ai/onnx/operators/onnx__Concat.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import upgrade
from ..rewriter.graph.node import Node


@upgrade("Concat", 4)
def write_out_axis(node: Node) -> None:
    """axis=1 is written out: opset 1 has this default in its text, not in its schema."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 1)
