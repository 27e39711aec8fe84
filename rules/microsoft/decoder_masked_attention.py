"""DecoderMaskedMultiHeadAttention of onnxruntime, as far as it does not keep past and present in one buffer.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.DecoderMaskedMultiHeadAttention
"""

from __future__ import annotations

from math import sqrt

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.attention_masks import marked_visible, padding_bias
from ..shared.contrib import contrib
from ..shared.heads import heads_first, scaled, transposed, weighted, with_heads

_Q, _K, _V, _MASK, _ADDED, _PAST_KEY = range(6)
_BIAS, _SCORES = 10, 3


@contrib("DecoderMaskedMultiHeadAttention", opset=13, sums=True)
def attend_to_an_encoder(node: Node) -> None:
    """The node, whose keys are those of an encoder, becomes softmax(scale · q · kᵀ + mask) · v."""
    _refuse_own_keys(node)
    op, kind, heads = node.op, node.need_elem_type(), node.attr("num_heads")
    width, q = node.need_dimension(2), node.input(_Q)
    if node.has_input(_BIAS):
        q = op.Add(q, op.Slice(node.input(_BIAS), op.int64([0]), op.int64([width])))
    scale = node.attr("scale", 0.0) or 1 / sqrt(width // heads)
    queries = heads_first(node, scaled(node, with_heads(node, q, heads), scale, kind))
    scores = op.MatMul(queries, transposed(node, node.input(_K)))
    if node.has_input(_MASK):
        scores = op.Add(scores, padding_bias(node, marked_visible(node, _MASK), kind))
    if node.has_output(_SCORES):
        op.Identity(scores, output=node.output(_SCORES))
    weighted(node, scores, node.input(_V), heads)


def _refuse_own_keys(node: Node) -> None:
    """Raises Unconvertible where keys are put behind past ones, which this operator does in their buffer only."""
    keys = node.rank(_K) if node.has_input(_K) else 0
    if keys != 4 or node.has_input(_PAST_KEY) or node.attr("past_present_share_buffer", 0) or node.has_output(1):
        raise Unconvertible(
            "DecoderMaskedMultiHeadAttention keeps its own past and present keys in one buffer, which no operator of ONNX does",
            "export the decoder with MultiHeadAttention instead",
        )
    if node.has_input(_ADDED):
        raise Unconvertible("DecoderMaskedMultiHeadAttention has no attention_bias for keys of an encoder", "correct the model")
