"""EmbedLayerNormalization of onnxruntime: the embeddings of words, positions and segments, added and normalized.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.EmbedLayerNormalization
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import DOMAIN, contrib
from ..shared.indices import length
from ..shared.quantized import dequantized

_WORDS, _SEGMENTS, _WORD_TABLE, _POSITION_TABLE, _SEGMENT_TABLE, _GAMMA, _BETA, _MASK, _POSITIONS = range(9)
_COUNTS, _SUM = 1, 2
_QUANTIZED = tuple((table, 8 + number, 13 + number) for number, table in enumerate((2, 3, 4, 5, 6)))
"""The tables of QEmbedLayerNormalization, each with its scale and its zero point: words, positions, segments, gamma and beta."""


@contrib("EmbedLayerNormalization", opset=17)
def embed(node: Node) -> None:
    """The node becomes a Gather from each table, the sum of these, and LayerNormalization."""
    op = node.op
    if node.has_input(_SEGMENTS) != node.has_input(_SEGMENT_TABLE):
        raise Unconvertible(
            "EmbedLayerNormalization has segments without a table, or a table without segments", "correct the model"
        )
    total = op.Add(op.Gather(node.input(_WORD_TABLE), node.input(_WORDS), axis=0), _positions(node))
    if node.has_input(_SEGMENTS):
        total = op.Add(total, op.Gather(node.input(_SEGMENT_TABLE), node.input(_SEGMENTS), axis=0))
    if node.has_output(_SUM):
        op.Identity(total, output=node.output(_SUM))
    if node.has_output(_COUNTS):
        _count(node)
    operands = [total, node.input(_GAMMA), node.input(_BETA)]
    op.LayerNormalization(*operands, output=node.output(0), axis=-1, epsilon=node.attr("epsilon", 1e-12))
    node.remove()


def _positions(node: Node) -> str:
    """The embeddings of the positions, [batch, length, size] or with fewer axes where all sequences have the same positions."""
    op, table = node.op, node.input(_POSITION_TABLE)
    if node.has_input(_POSITIONS):
        return op.Gather(table, node.input(_POSITIONS), axis=0)
    count = node.dimension(1)
    if isinstance(count, int) and count == node.dimension(0, table):
        return table
    return op.Slice(table, op.int64([0]), length(node, node.input(_WORDS), 1), op.int64([0]))


def _count(node: Node) -> None:
    """Write the second output: how many ones the mask of each sequence has, or 0 where there is no mask."""
    op, output = node.op, node.output(_COUNTS)
    if not node.has_input(_MASK):
        op.Expand(op.const(0, np.int32), length(node, node.input(_WORDS), 0), output=output)
        return
    is_word = op.Cast(op.Equal(node.input(_MASK), op.const(1, np.int32)), to=TensorProto.INT32)
    op.ReduceSum(is_word, op.int64([1]), keepdims=0, output=output)


@contrib("QEmbedLayerNormalization", opset=13, sums=True)
def embed_integers(node: Node) -> None:
    """The node becomes EmbedLayerNormalization behind DequantizeLinear of each table."""
    tables = [dequantized(node, table, scale, zero) if node.has_input(table) else "" for table, scale, zero in _QUANTIZED]
    inputs = [node.input(0), node.input(1), *tables, node.input(_MASK)]
    node.become.of(DOMAIN, node.domain_version).EmbedLayerNormalization(*inputs, epsilon=node.attr("epsilon"))
