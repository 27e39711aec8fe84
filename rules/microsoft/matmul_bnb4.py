"""MatMulBnb4: MatMul with weights of 4 bits, which stand for the entries of a table, of which each block has a largest value.

The weights are a matrix [N, K], flattened, two in a byte with the first one in the high bits. The tables are those of bitsandbytes:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MatMulBnb4
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib

_FP4 = [0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]
_NF4 = [
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334),
    *(-0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
]
_TABLES = {0: [*_FP4, *(-value for value in _FP4)], 1: _NF4}
"""What the numbers from 0 to 15 stand for, by `quant_type`."""


@contrib("MatMulBnb4", opset=13, sums=True)
def multiply_by_table(node: Node) -> None:
    """The weights are looked up byte by byte in a table, scaled by blocks, and the node becomes MatMul by them."""
    op, kind = node.op, node.need_elem_type()
    rows, columns, block, table = (node.attr(name) for name in ("N", "K", "block_size", "quant_type"))
    if table not in _TABLES or rows * columns % max(block, 1) or rows * columns % 2:
        raise Unconvertible(
            "MatMulBnb4 has a table, or blocks, of a form that is not written in ONNX", "quantize with another block"
        )
    entries = np.array(_TABLES[table], np.float32)
    pairs = np.stack([entries.repeat(16), np.tile(entries, 16)], axis=1)
    values = op.Gather(op.const(pairs, kind), op.Cast(node.input(1), to=int(TensorProto.INT32)))
    scaled = op.Mul(op.Reshape(values, op.int64([-1, block])), op.Reshape(node.input(2), op.int64([-1, 1])))
    weights = op.Reshape(scaled, op.int64([rows, columns]))
    if node.attr("transB", 1):
        weights = op.Transpose(weights, perm=[1, 0])
    node.give(op.MatMul(node.input(0), weights))
