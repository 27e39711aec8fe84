"""DeformConv below opset 19: GridSample interpolates the image, and one MatMul multiplies with the weights.

https://onnx.ai/onnx/operators/onnx__DeformConv.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.tables import index_grid


@decompose("DeformConv", opset=18, exact=False)
def sample_then_multiply(node: Node) -> None:
    """GridSample reads the image where the offsets point, with zeros outside, and a MatMul applies the weights."""
    shape, weights, offsets = node.need_shape(0), node.need_shape(1), node.need_shape(2)
    if len(shape) != 4:
        raise Unconvertible(f"DeformConv in {len(shape) - 2} dimensions cannot be written as GridSample, which has 2")
    groups, offset_groups = node.attr("group", 1), node.attr("offset_group", 1)
    batch, channels, kernel, out = shape[0], shape[1], weights[2:], offsets[2:]
    taps, pixels = kernel[0] * kernel[1], out[0] * out[1]
    grid = _grid(node, offsets, batch * offset_groups, kernel, out)
    per_group = int64(node, [batch * offset_groups, channels // offset_groups, *shape[2:]], "groups")
    image = node.before("Reshape", [node.input(0), per_group], what="image")
    sampled = node.before("GridSample", [image, grid], what="sampled", mode="bilinear", padding_mode="zeros", align_corners=0)
    form = int64(node, [batch * offset_groups, channels // offset_groups, taps, pixels], "taps")
    sampled = node.before("Reshape", [sampled, form], what="sampled")
    if node.has_input(4):
        form = int64(node, [batch * offset_groups, 1, taps, pixels], "mask")
        mask = node.before("Reshape", [node.input(4), form], what="mask")
        sampled = node.before("Mul", [sampled, mask], what="masked")
    columns = int64(node, [batch, groups, channels // groups * taps, pixels], "columns")
    rows = int64(node, [groups, weights[0] // groups, channels // groups * taps], "rows")
    filters = node.before("Reshape", [node.input(1), rows], what="filters")
    product = node.before("MatMul", [filters, node.before("Reshape", [sampled, columns], what="columns")], what="product")
    result = int64(node, [batch, weights[0], *out], "form")
    if not node.has_input(3):
        node.become("Reshape", [product, result])
        return
    bias = node.before("Reshape", [node.input(3), int64(node, [1, -1, 1, 1], "form")], what="bias")
    node.become("Add", [node.before("Reshape", [product, result], what="unbiased"), bias])


def _grid(node: Node, offsets: tuple[int, ...], batch: int, kernel: tuple[int, ...], out: tuple[int, ...]) -> str:
    """(batch, taps * rows, columns, 2): the positions as GridSample counts them, x before y, -1 and 1 at the outer edges."""
    dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
    size = np.array(node.need_shape()[2:], dtype)
    strides, pads = node.attr("strides", [1, 1]), node.attr("pads", [0] * 4)
    dilations = node.attr("dilations", [1, 1])
    ky, kx, oy, ox = index_grid((*kernel, *out))
    base = np.stack([oy * strides[0] - pads[0] + ky * dilations[0], ox * strides[1] - pads[1] + kx * dilations[1]])
    base = base.reshape(2, kernel[0] * kernel[1], *out).swapaxes(0, 1).astype(dtype)
    form = int64(node, [batch, kernel[0] * kernel[1], 2, *out], "offsets")
    offset = node.before("Reshape", [node.input(2), form], what="offset")
    moved = node.before("Add", [offset, node.add_constant(base, dtype, "base")], what="moved")
    scale, shift = (2 / size).reshape(2, 1, 1), (1 / size - 1).reshape(2, 1, 1)
    scaled = node.before("Mul", [moved, node.add_constant(scale, dtype, "scale")], what="scaled")
    position = node.before("Add", [scaled, node.add_constant(shift, dtype, "shift")], what="position")
    last = node.before("Transpose", [position], what="last", perm=[0, 1, 3, 4, 2])
    swapped = node.before("Gather", [last, int64(node, [1, 0], "x_y")], what="x_y", axis=4)
    return node.before("Reshape", [swapped, int64(node, [batch, -1, out[1], 2], "grid")], what="grid")
