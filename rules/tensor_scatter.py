"""TensorScatter below opset 24: ScatterElements replaces a part of a cache.

https://onnx.ai/onnx/operators/onnx__TensorScatter.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.indices import count_up, length

_NOT_SCATTERED = ("float8", "float4", "float6", "int4", "uint4", "int2", "uint2")


@decompose("TensorScatter", opset=23)
def scatter_along_the_sequence(node: Node) -> None:
    """The node becomes ScatterElements at write index + position, modulo the length of the cache if that is circular."""
    op = node.op
    kind = TensorProto.DataType.Name(node.need_elem_type()).lower()
    if kind.startswith(_NOT_SCATTERED):
        raise Unconvertible(f"TensorScatter of {kind}, which ScatterElements does not take", "cast the cache to another type")
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", -2)], rank)
    cache, update = node.input(0), node.input(1)
    places = count_up(node, op.int64([0]), length(node, update, axis), op.int64([1]))
    places = op.Reshape(places, op.int64([-1 if d == axis else 1 for d in range(rank)]))
    if node.has_input(2):
        form = op.int64([-1, *[1] * (rank - 1)])
        places = op.Add(op.Reshape(node.input(2), form), places)
    if node.attr("mode", "linear") == "circular":
        places = op.Mod(places, length(node, cache, axis))
    places = op.Expand(places, op.Shape(update))
    node.become.ScatterElements(cache, places, update, axis=axis)
