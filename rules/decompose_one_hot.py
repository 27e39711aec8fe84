"""OneHot below opset 9, where its depth is known, and Compress.

https://onnx.ai/onnx/operators/onnx__OneHot.html, onnx__Compress.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import decompose
from .axes import from_the_front
from .indices import int64
from .parameters import one_number
from .tables import arange


@decompose("OneHot", opset=8)
def look_up_off_or_on(node: Node) -> None:
    """Where the index is the position along the new axis, the second of the two values, else the first."""
    rank = node.need_rank() + 1
    (axis,) = from_the_front([node.attr("axis", -1)], rank)
    depth = _depth(node, axis)
    indices = node.before("Cast", [node.input(0)], what="indices", to=TensorProto.INT64)
    indices = node.before("Unsqueeze", [indices], what="indices", axes=[axis])
    positions = arange(depth).reshape([-1 if d == axis else 1 for d in range(rank)])
    hot = node.before("Equal", [indices, node.add_constant(positions, np.int64, "positions")], what="hot")
    node.become("Gather", [node.input(2), node.before("Cast", [hot], what="hot", to=TensorProto.INT64)], axis=0)


def _depth(node: Node, axis: int) -> int:
    """The depth, or the length that the model declares the new axis to have."""
    shape = node.output_shape()
    declared = shape[axis] if shape is not None and axis < len(shape) else None
    if node.constant(1) is None and isinstance(declared, int):
        return declared
    return int(one_number(node.const_input(1, "the depth")))


@decompose("Compress", opset=8)
def gather_the_kept(node: Node) -> None:
    """The condition says which slices to gather."""
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
