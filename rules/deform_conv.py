"""DeformConv below opset 19: GridSample interpolates the image, and one MatMul multiplies by the weights.

https://onnx.ai/onnx/operators/onnx__DeformConv.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.tables import index_grid


@decompose("DeformConv", opset=18, exact=False, sums=True)
def sample_then_multiply(node: Node) -> None:
    """GridSample reads the image at the offset positions, with zeros outside, and a MatMul applies the weights."""
    op = node.op
    shape, weights, offsets = node.need_shape(0), node.need_shape(1), node.need_shape(2)
    if len(shape) != 4:
        raise Unconvertible(f"DeformConv in {len(shape) - 2} dimensions cannot be written as GridSample, which has 2")
    groups, offset_groups = node.attr("group", 1), node.attr("offset_group", 1)
    batch, channels, kernel, out = shape[0], shape[1], weights[2:], offsets[2:]
    taps, pixels = kernel[0] * kernel[1], out[0] * out[1]
    grid = _grid(node, offsets, batch * offset_groups, kernel, out)
    per_group = op.int64([batch * offset_groups, channels // offset_groups, *shape[2:]])
    image = op.Reshape(node.input(0), per_group)
    sampled = op.GridSample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=0)
    form = op.int64([batch * offset_groups, channels // offset_groups, taps, pixels])
    sampled = op.Reshape(sampled, form)
    if node.has_input(4):
        form = op.int64([batch * offset_groups, 1, taps, pixels])
        mask = op.Reshape(node.input(4), form)
        sampled = op.Mul(sampled, mask)
    columns = op.int64([batch, groups, channels // groups * taps, pixels])
    rows = op.int64([groups, weights[0] // groups, channels // groups * taps])
    filters = op.Reshape(node.input(1), rows)
    product = op.MatMul(filters, op.Reshape(sampled, columns))
    result = op.int64([batch, weights[0], *out])
    if not node.has_input(3):
        node.become.Reshape(product, result)
        return
    bias = op.Reshape(node.input(3), op.int64([1, -1, 1, 1]))
    node.become.Add(op.Reshape(product, result), bias)


def _grid(node: Node, offsets: tuple[int, ...], batch: int, kernel: tuple[int, ...], out: tuple[int, ...]) -> str:
    """The positions (batch, taps * rows, columns, 2) as GridSample wants them: x before y, with -1 and 1 at the outer edges."""
    op = node.op
    dtype = np.dtype(np.float64 if node.need_elem_type() == TensorProto.DOUBLE else np.float32)
    size = np.array(node.need_shape()[2:], dtype)
    strides, pads = node.attr("strides", [1, 1]), node.attr("pads", [0] * 4)
    dilations = node.attr("dilations", [1, 1])
    ky, kx, oy, ox = index_grid((*kernel, *out))
    base = np.stack([oy * strides[0] - pads[0] + ky * dilations[0], ox * strides[1] - pads[1] + kx * dilations[1]])
    base = base.reshape(2, kernel[0] * kernel[1], *out).swapaxes(0, 1).astype(dtype)
    form = op.int64([batch, kernel[0] * kernel[1], 2, *out])
    offset = op.Reshape(node.input(2), form)
    if node.need_elem_type() not in (TensorProto.FLOAT, TensorProto.DOUBLE):
        offset = op.Cast(offset, to=TensorProto.FLOAT)  # 16 bits hold no position exactly that is scaled
    moved = op.Add(offset, op.const(base, dtype))
    # Beyond a pixel outside all is zero, and positions that are far away, or NaN, may be none that GridSample can count.
    first, last = op.const(np.full((2, 1, 1), -2), dtype), op.const((size + 1).reshape(2, 1, 1), dtype)
    moved = op.Where(op.IsNaN(moved), first, moved)
    moved = op.Min(op.Max(moved, first), last)
    scale, shift = (2 / size).reshape(2, 1, 1), (1 / size - 1).reshape(2, 1, 1)
    scaled = op.Mul(moved, op.const(scale, dtype))
    position = op.Add(scaled, op.const(shift, dtype))
    pairs = op.Transpose(position, perm=[0, 1, 3, 4, 2])
    swapped = op.Gather(pairs, op.int64([1, 0]), axis=4)
    return op.Reshape(swapped, op.int64([batch, -1, out[1], 2]))
