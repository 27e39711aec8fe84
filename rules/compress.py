"""Compress below opset 9: a Gather of the slices that the condition keeps.

https://onnx.ai/onnx/operators/onnx__Compress.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.indices import int64


@decompose("Compress", opset=8)
def gather_kept_slices(node: Node) -> None:
    """The indices at which the condition is true are found by NonZero, or are a constant, and gathered."""
    known = node.constant(1)
    if known is None:
        places = node.before("NonZero", [node.input(1)], what="places", opset=9)
        kept = node.before("Reshape", [places, int64(node, [-1], "flat")], what="kept")
    else:
        kept = int64(node, np.flatnonzero(known).tolist(), "kept")
    data, axis = node.input(0), node.attr("axis")
    if axis is None:
        data, axis = node.before("Reshape", [data, int64(node, [-1], "flat")], what="flat"), 0
    node.become("Gather", [data, kept], axis=axis)
