"""Gemm: C is optional from opset 11 on. Before 7, the attribute broadcast states that C is smaller than the product.

https://onnx.ai/onnx/operators/onnx__Gemm.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node

_C = 2
"""The position of C among the inputs."""


@upgrade("Gemm", 7)
def drop_broadcast(node: Node) -> None:
    """The attribute broadcast is removed: C always broadcasts from opset 7 on."""
    node.pop_attr("broadcast")


@downgrade("Gemm", 11)
def add_zero(node: Node) -> None:
    """An absent C becomes 0, with beta=0."""
    if not node.has_input(_C):
        node.set_attr("beta", 0.0)
        dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
        node.set_input(_C, node.op.const(0, dtype))


@downgrade("Gemm", 7)
def broadcast_to_attribute(node: Node) -> None:
    """broadcast=1 is set for a C that is a number or a row; a column is repeated by Tile, since Gemm cannot broadcast it."""
    op = node.op
    shape = node.need_shape(_C)
    rows, columns = node.need_dimension(_free_axis(node, "transA", 0)), node.need_dimension(_free_axis(node, "transB", 1), 1)
    if shape == (rows, columns):
        return
    node.set_attr("broadcast", 1)
    if shape in ((), (columns,)):
        return
    if int(np.prod(shape)) in (1, columns) and shape[-1] == columns:
        node.set_input(_C, op.Reshape(node.input(_C), op.int64([columns])))
    elif int(np.prod(shape)) == 1:
        node.set_input(_C, op.Reshape(node.input(_C), op.int64([])))
    elif shape == (rows, 1):
        node.pop_attr("broadcast")
        node.set_input(_C, op.Tile(node.input(_C), op.int64([1, columns])))
    else:
        raise Unconvertible(f"C of shape {shape} does not broadcast to ({rows}, {columns})")


def _free_axis(node: Node, transposed: str, axis: int) -> int:
    """The axis of A (0) or B (1) that the product keeps."""
    return 1 - axis if node.attr(transposed, 0) else axis
