"""Trilu below opset 14: a Where between the data and zero.

https://onnx.ai/onnx/operators/onnx__Trilu.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import length
from .shared.tables import arange


@decompose("Trilu", opset=16)
def where_the_triangle_is(node: Node) -> None:
    """The node becomes a Where that keeps x in the triangle, found by comparing column - row with k, and gives 0 elsewhere."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type == TensorProto.STRING:
        raise Unconvertible(
            "the specification does not say what Trilu puts in the place of strings", "use Where, which is defined for strings"
        )
    columns = _count(node, -1)
    is_square = node.dimension(-1) is not None and node.dimension(-1) == node.dimension(-2)
    rows = op.Unsqueeze(columns if is_square else _count(node, -2), op.int64([1]))
    data, zero = _fill(node) or node.input(0), op.const(0, elem_type)
    is_upper, k = node.attr("upper", 1), node.constant(1) if node.has_input(1) else np.int64(0)
    if k == (1 if is_upper else -1):  # the diagonal is the first that goes, and a comparison says what stays
        inside = op.Less(*([rows, columns] if is_upper else [columns, rows]))
        node.become.Where(inside, data, zero)
        return
    bounds = [columns, rows] if k == 0 else [op.Sub(columns, rows), node.input(1)]
    outside = op.Less(*(bounds if is_upper else reversed(bounds)))
    node.become.Where(outside, zero, data)


def _fill(node: Node) -> str:
    """The value of all elements of the matrix, such as that of a causal mask that exporters fill; "" where it is unknown.

    It can replace the matrix in the Where, because the triangle has its shape.
    """
    maker = node.maker()
    if maker is None or maker.op_type != "Expand" or node.rank() != 2:
        return ""
    value = node.constant(maker.input(0))
    return maker.input(0) if value is not None and value.size == 1 and value.ndim <= 2 else ""


def _count(node: Node, axis: int) -> str:
    """0, 1, … below the length of the axis."""
    op = node.op
    dimension = node.dimension(axis)
    if isinstance(dimension, int):
        return op.int64(arange(dimension).tolist())
    limit = length(node, node.input(0), axis + node.need_rank(), "scalar")
    return op.Range(op.int64(0), limit, op.int64(1))
