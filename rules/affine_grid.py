"""AffineGrid below opset 20: theta is multiplied by a grid, which is a constant where the sizes are known.

https://onnx.ai/onnx/operators/onnx__AffineGrid.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up
from .shared.tables import arange, require_few


@decompose("AffineGrid", opset=13, exact=False)
def transform_a_grid(node: Node) -> None:
    """A MatMul multiplies the positions of the grid, in homogeneous coordinates, by theta. They are a constant if the sizes are.

    ONNX's own function body is not used, because it drops the batch axis where its length is 1.
    """
    sizes = _sizes(node)
    if sizes is None:
        _transform_a_computed_grid(node)
        return
    op = node.op
    if node.attr("align_corners", 0) and 1 in sizes:
        raise Unconvertible("the position of a single pixel is not defined for align_corners=1")
    require_few(prod(sizes))
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    grid = np.stack(np.meshgrid(*(_positions(size, bool(node.attr("align_corners", 0))) for size in sizes), indexing="ij"))
    homogeneous = np.concatenate([grid[::-1].reshape(len(sizes), -1), np.ones((1, prod(sizes)))])
    moved = op.MatMul(node.input(0), op.const(homogeneous, dtype))
    positions = op.Transpose(moved, perm=[0, 2, 1])
    node.become.Reshape(positions, op.int64([0, *sizes, len(sizes)]))


def _sizes(node: Node) -> list[int] | None:
    """The spatial sizes, from the constant input 1 or from the output's declared shape; None where neither has them."""
    value = node.constant(1)
    if value is not None:
        return [int(size) for size in value[2:]]
    shape = node.shape(node.output(0))
    known = [] if shape is None else [dim for dim in shape[1:-1] if isinstance(dim, int)]
    return known if shape is not None and len(known) == len(shape) - 2 else None


def _transform_a_computed_grid(node: Node) -> None:
    """The positions are computed from the sizes that are input 1."""
    op, count = node.op, node.dimension(0, 1)
    rank = count - 2 if isinstance(count, int) else node.need_dimension(1)
    if node.attr("align_corners", 0):
        node.caution("with align_corners=1 a single pixel is put at 1, as onnxruntime does")
    lengths = op.Slice(node.input(1), op.int64([2]), op.int64([2 + rank]))
    rows = [op.Expand(op.const(np.ones([1] * rank), np.float32), lengths)]
    for axis in range(rank):
        length = op.Slice(lengths, op.int64([axis]), op.int64([axis + 1]))
        places = op.Reshape(_computed_positions(node, length), op.int64([-1 if other == axis else 1 for other in range(rank)]))
        rows.insert(0, op.Expand(places, lengths))
    grid = op.Concat(*(op.Reshape(row, op.int64([1, -1])) for row in rows), axis=0)
    moved = op.MatMul(node.input(0), op.Cast(grid, to=node.need_elem_type()))
    node.become.Reshape(op.Transpose(moved, perm=[0, 2, 1]), op.Concat(op.int64([0]), lengths, op.int64([rank]), axis=0))


def _computed_positions(node: Node, length: str) -> str:
    """As `_positions`, in float32, for an axis of the `length` that is a vector of one."""
    op = node.op
    doubled = op.Mul(op.Cast(count_up(node, op.int64([0]), length, op.int64([1])), to=TensorProto.FLOAT), op.const(2, np.float32))
    size = op.Cast(length, to=TensorProto.FLOAT)
    if node.attr("align_corners", 0):
        one = op.const(1, np.float32)
        along = op.Where(op.Greater(size, one), op.Div(doubled, op.Max(op.Sub(size, one), one)), op.const(2, np.float32))
    else:
        along = op.Div(op.Add(doubled, op.const(1, np.float32)), size)
    return op.Sub(along, op.const(1, np.float32))


def _positions(size: int, align_corners: bool) -> np.ndarray:
    """The positions of the `size` pixels of an axis between -1 and 1, as a vector of float64."""
    return np.linspace(-1, 1, size) if align_corners else (2 * arange(size) + 1) / size - 1
