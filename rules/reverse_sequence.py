"""ReverseSequence below opset 10: one Gather from the flattened data at computed positions.

https://onnx.ai/onnx/operators/onnx__ReverseSequence.html
"""

from __future__ import annotations

from math import prod

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.flat_indices import flattened, stored_places
from .shared.tables import arange, index_grid


@decompose("ReverseSequence", opset=9)
def gather_mirrored(node: Node) -> None:
    """Each element inside its sequence is gathered from the mirrored position, and every other one from its own."""
    op = node.op
    batch_axis, time_axis = node.attr("batch_axis", 1), node.attr("time_axis", 0)
    if {batch_axis, time_axis} != {0, 1}:
        raise Unconvertible(f"batch_axis is {batch_axis} and time_axis is {time_axis}, where one has to be 0 and the other 1")
    shape = node.need_shape()
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    grid = index_grid(shape)
    time = op.int64(arange(shape[time_axis]).tolist())
    lengths = op.Cast(node.input(1), to=TensorProto.INT64)
    lengths = op.Reshape(lengths, op.int64([-1, 1]))
    inside = op.Less(time, lengths)
    inside = op.Cast(inside, to=TensorProto.INT64)
    # length - 1 - 2 * time is the way from an element to its mirror image
    twice = op.int64([2 * t + 1 for t in range(shape[time_axis])])
    way = op.Mul(inside, op.Sub(lengths, twice))
    cells = stored_places(node, grid[batch_axis] * shape[time_axis] + grid[time_axis])
    way = op.Gather(flattened(node, way), cells, axis=0)
    way = op.Mul(way, op.int64(strides[time_axis]))
    own = stored_places(node, arange(prod(shape)).reshape(shape))
    node.become.Gather(flattened(node, node.input(0)), op.Add(way, own), axis=0)
