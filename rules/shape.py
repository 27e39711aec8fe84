"""Shape: start and end came with opset 15.

https://onnx.ai/onnx/operators/onnx__Shape.html
"""

from __future__ import annotations

import numpy as np

from ..rewriter.engine.registry import avoid, downgrade
from ..rewriter.graph.node import Node


@avoid("Shape with start or end", "Shape", opset=14)
@downgrade("Shape", 15)
def slice_of_shape(node: Node) -> None:
    """start and end are removed: a Slice takes this part of the whole shape.

    It is exact for all types and ranks.
    """
    op = node.op
    start, end = node.pop_attr("start", 0), node.pop_attr("end", np.iinfo(np.int64).max)
    rank = node.rank()
    if rank is not None:
        start, end, _ = slice(start, end).indices(rank)
    if start == 0 and end >= (rank if rank is not None else np.iinfo(np.int64).max):
        return
    name = node.input(0)
    if rank is not None and end == start + 1:
        name, start = node.graph.origin_of_dimension(name, start)
        end = start + 1
    whole = op.Shape(name)
    node.become.Slice(whole, op.int64([start]), op.int64([end]))
