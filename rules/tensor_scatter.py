"""TensorScatter: a cache with some of its sequence replaced.

https://onnx.ai/onnx/operators/onnx__TensorScatter.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.indices import count_up, int64, length

_NOT_SCATTERED = ("float8", "float4", "float6", "int4", "uint4", "int2", "uint2")


@decompose("TensorScatter", opset=23)
def scatter_along_the_sequence(node: Node) -> None:
    """ScatterElements at write index + position, modulo the length of the cache where it is circular."""
    kind = TensorProto.DataType.Name(node.need_elem_type()).lower()
    if kind.startswith(_NOT_SCATTERED):
        raise Unconvertible(f"TensorScatter of {kind}, which ScatterElements does not take", "cast the cache to another type")
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", -2)], rank)
    cache, update = node.input(0), node.input(1)
    places = count_up(node, int64(node, [0], "zero"), length(node, update, axis), int64(node, [1], "one"))
    places = node.before("Reshape", [places, int64(node, [-1 if d == axis else 1 for d in range(rank)], "form")], what="places")
    if node.has_input(2):
        form = int64(node, [-1, *[1] * (rank - 1)], "form")
        places = node.before("Add", [node.before("Reshape", [node.input(2), form], what="starts"), places], what="places")
    if node.attr("mode", "linear") == "circular":
        places = node.before("Mod", [places, length(node, cache, axis)], what="places")
    places = node.before("Expand", [places, node.before("Shape", [update], what="shape")], what="places")
    node.become("ScatterElements", [cache, places, update], axis=axis)
