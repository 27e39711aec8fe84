"""GatherElements below opset 11: one Gather from the flattened data at computed positions.

https://onnx.ai/onnx/operators/onnx__GatherElements.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.flat_indices import count_elements, flattened, indices_from_the_front, places_along_other_axes
from .shared.indices import length


@decompose("GatherElements", opset=10)
def gather_flat(node: Node) -> None:
    """The node becomes a Gather from the flattened data, at index * stride + the position along the other axes."""
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", 0)], rank)
    size = length(node, node.input(0), axis, "scalar")
    indices = indices_from_the_front(node, 1, size)
    stride = count_elements(node, node.input(0), range(axis + 1, rank))
    along = node.op.Mul(indices, stride)
    places = node.op.Add(along, places_along_other_axes(node, node.input(1), axis, rank))
    node.become.Gather(flattened(node, node.input(0)), places, axis=0)
