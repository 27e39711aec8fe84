"""Compress below opset 9: a Gather of the slices that the condition keeps.

https://onnx.ai/onnx/operators/onnx__Compress.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("Compress", opset=8)
def gather_kept_slices(node: Node) -> None:
    """The node becomes a Gather at the indices where the condition is true, which are found by NonZero or are a constant."""
    op = node.op
    known = node.constant(1)
    if known is None:
        places = op.NonZero(node.input(1), opset=9)
        kept = op.Reshape(places, op.int64([-1]))
    else:
        kept = op.int64(np.flatnonzero(known).tolist())
    data, axis = node.input(0), node.attr("axis")
    if axis is None:
        data, axis = op.Reshape(data, op.int64([-1])), 0
    node.become.Gather(data, kept, axis=axis)
