"""Concat: the axis has to be given from opset 4 on; in 1 it is 1 unless it is given.

https://onnx.ai/onnx/operators/onnx__Concat.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import upgrade
from ..rewriter.graph.node import Node


@upgrade("Concat", 4)
def write_out_axis(node: Node) -> None:
    """The default of the documentation of Concat-1 is written out; its schema has none."""
    if not node.has_attr("axis"):
        node.set_attr("axis", 1)
