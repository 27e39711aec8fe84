"""AffineGrid below opset 20, where the sizes are known: theta is multiplied by a constant grid.

https://onnx.ai/onnx/operators/onnx__AffineGrid.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.tables import arange, require_few


@decompose("AffineGrid", opset=13, exact=False)
def transform_a_constant_grid(node: Node) -> None:
    """The grid positions become a constant in homogeneous coordinates, and a MatMul multiplies them by theta.

    ONNX's own function body is not used, because it drops the batch axis where its length is 1.
    """
    op = node.op
    sizes = _sizes(node)
    if node.attr("align_corners", 0) and 1 in sizes:
        raise Unconvertible("the position of a single pixel is not defined for align_corners=1")
    require_few(prod(sizes))
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    grid = np.stack(np.meshgrid(*(_positions(size, bool(node.attr("align_corners", 0))) for size in sizes), indexing="ij"))
    homogeneous = np.concatenate([grid[::-1].reshape(len(sizes), -1), np.ones((1, prod(sizes)))])
    moved = op.MatMul(node.input(0), op.const(homogeneous, dtype))
    positions = op.Transpose(moved, perm=[0, 2, 1])
    node.become.Reshape(positions, op.int64([0, *sizes, len(sizes)]))


def _sizes(node: Node) -> list[int]:
    """The spatial sizes, from the constant input 1 or from the output's declared shape.

    Raises Unconvertible where neither has them.
    """
    value = node.constant(1)
    if value is not None:
        return [int(size) for size in value[2:]]
    shape = node.shape(node.output(0))
    known = [] if shape is None else [dim for dim in shape[1:-1] if isinstance(dim, int)]
    if shape is None or len(known) != len(shape) - 2:
        node.const_input(1, "the size")
    return known


def _positions(size: int, align_corners: bool) -> np.ndarray:
    """The positions of the `size` pixels of an axis between -1 and 1, as a vector of float64."""
    return np.linspace(-1, 1, size) if align_corners else (2 * arange(size) + 1) / size - 1
