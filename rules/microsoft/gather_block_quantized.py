"""GatherBlockQuantized: Gather of rows of few bits, of which each block has a scale and a zero point.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatherBlockQuantized
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib

_DATA, _POSITIONS, _SCALES, _ZEROS = range(4)
_BITS = {2: 25, 4: int(TensorProto.UINT4), 8: int(TensorProto.UINT8)}
"""The packed type of so many bits; 25 is UINT2, which older versions of onnx do not name."""


@contrib("GatherBlockQuantized", opset=13)
def gather_and_scale(node: Node) -> None:
    """The node becomes Gather of integers (uint8), scales and zero points, and (q - zero point) · scale."""
    op, kind = node.op, node.need_elem_type(_SCALES)
    bits, block = node.attr("bits", 4), node.attr("block_size", 128)
    integers, rows, columns = _integers(node, bits)
    blocks, rank = columns // block, node.need_rank(_POSITIONS)
    if blocks * block != columns:
        raise Unconvertible("the last block of GatherBlockQuantized is shorter than the others", "quantize with another block_size")
    zeros = op.const(_zero_points(node, bits, rows, blocks), kind)
    positions = node.input(_POSITIONS)
    parts = op.Reshape(op.Cast(op.Gather(integers, positions), to=kind), op.int64([*[0] * rank, blocks, block]))
    scales, zeros = (op.Unsqueeze(op.Gather(name, positions), op.int64([-1])) for name in (node.input(_SCALES), zeros))
    scaled = op.Mul(op.Sub(parts, zeros), scales)
    node.give(op.Reshape(scaled, op.int64([*[0] * rank, columns])))


def _integers(node: Node, bits: int) -> tuple[str, int, int]:
    """The stored matrix of integers as uint8, and its numbers of rows and columns."""
    stored, name = node.graph.tensor(node.input(_DATA)), node.input(_DATA)
    axes = node.attr("gather_axis", 0), node.attr("quantize_axis", 1)
    if stored is None or len(stored.dims) != 2 or axes[0] != 0 or axes[1] not in (1, -1):
        raise Unconvertible("GatherBlockQuantized is written for rows of a stored matrix in blocks along the last axis")
    if stored.data_type != TensorProto.UINT8 or bits not in _BITS:
        raise Unconvertible(f"'{name}' is not stored as 2, 4 or 8 bits in bytes", "quantize with uint8")
    rows, columns = stored.dims[0], stored.dims[1] * 8 // bits
    if bits == 8:
        return name, rows, columns
    wide = node.graph.unpacked(stored, _BITS[bits], [rows, columns], node.fresh_name("integers"), int(TensorProto.UINT8))
    return node.add_tensor(wide), rows, columns


def _zero_points(node: Node, bits: int, rows: int, blocks: int) -> np.ndarray:
    """The zero point of each block, of shape [rows, blocks]: each row of them is packed into bytes of its own."""
    if not node.has_input(_ZEROS):
        return np.full((rows, blocks), 1 << (bits - 1))
    packed = node.const_input(_ZEROS, "the zero points")
    length = -(-blocks * bits // 8)
    if packed.size != rows * length or prod(node.need_shape(_SCALES)) != rows * blocks:
        raise Unconvertible("the zero points of GatherBlockQuantized are not one for each block", "correct the model")
    fields = np.unpackbits(packed.reshape(rows, length), axis=1, bitorder="little").reshape(rows, -1, bits)
    return np.packbits(fields, axis=2, bitorder="little")[:, :blocks, 0]
