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
    """Where(column - row compares with k, x, 0)."""
    op = node.op
    elem_type = node.need_elem_type()
    if elem_type == TensorProto.STRING:
        raise Unconvertible(
            "the specification does not say what Trilu puts in the place of strings", "use Where, which is defined for strings"
        )
    columns = _count(node, -1)
    is_square = node.dimension(-1) is not None and node.dimension(-1) == node.dimension(-2)
    rows = op.Unsqueeze(columns if is_square else _count(node, -2), op.int64([1]))
    k = node.constant(1) if node.has_input(1) else np.int64(0)
    bounds = [columns, rows] if k == 0 else [op.Sub(columns, rows), node.input(1)]
    outside = op.Less(*(bounds if node.attr("upper", 1) else reversed(bounds)))
    zero = op.const(0, elem_type)
    node.become.Where(outside, zero, node.input(0))


def _count(node: Node, axis: int) -> str:
    """0, 1, … below the length of the axis."""
    op = node.op
    dimension = node.dimension(axis)
    if isinstance(dimension, int):
        return op.int64(arange(dimension).tolist())
    limit = length(node, node.input(0), axis + node.need_rank(), "scalar")
    return op.Range(op.int64(0), limit, op.int64(1))
