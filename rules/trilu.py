"""Trilu below opset 14: a Where between the data and zero.

https://onnx.ai/onnx/operators/onnx__Trilu.html
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64, length
from .shared.tables import arange


@decompose("Trilu", opset=16)
def where_the_triangle_is(node: Node) -> None:
    """Where(column - row compares with k, x, 0)."""
    elem_type = node.need_elem_type()
    if elem_type == TensorProto.STRING:
        raise Unconvertible(
            "the specification does not say what Trilu puts in the place of strings", "use Where, which is defined for strings"
        )
    rows, columns = (_count(node, axis) for axis in (-2, -1))
    rows = node.before("Unsqueeze", [rows, int64(node, [1], "column")], what="rows")
    distance = node.before("Sub", [columns, rows], what="distance")
    k = node.input(1) if node.has_input(1) else int64(node, 0, "k")
    bounds = [distance, k] if node.attr("upper", 1) else [k, distance]
    outside = node.before("Less", bounds, what="outside")
    zero = node.add_constant(0, helper.tensor_dtype_to_np_dtype(elem_type), "zero")
    node.become("Where", [outside, zero, node.input(0)])


def _count(node: Node, axis: int) -> str:
    """0, 1, … below the length of the axis."""
    dimension = node.dimension(axis)
    if isinstance(dimension, int):
        return int64(node, arange(dimension).tolist(), "count")
    limit = length(node, node.input(0), axis + node.need_rank(), "scalar")
    return node.before("Range", [int64(node, 0, "zero"), limit, int64(node, 1, "one")], what="count")
