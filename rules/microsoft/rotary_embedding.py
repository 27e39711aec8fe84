"""RotaryEmbedding of onnxruntime, which became an operator of ONNX with opset 23.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.RotaryEmbedding
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.attention_masks import count_from_zero
from ..shared.contrib import contrib
from ..shared.indices import length

_X, _POSITIONS, _COS, _SIN = range(4)


@contrib("RotaryEmbedding", opset=23)
def rotate_positions(node: Node) -> None:
    """The node becomes ONNX's own RotaryEmbedding, with a row of angles for each position."""
    if node.attr("scale", 1.0) != 1.0 or node.attr("is_packed_batching", 0):
        raise Unconvertible("RotaryEmbedding with scale or is_packed_batching has no form in ONNX")
    interleaved, part, heads = node.attr("interleaved", 0), node.attr("rotary_embedding_dim", 0), node.attr("num_heads", 0)
    width = 2 * node.need_dimension(1, _COS)
    if node.need_rank() == 3 and not heads:
        heads = node.need_dimension(2) // width
    if interleaved not in (0, 1) or width != (part or _head_size(node, heads)):
        raise Unconvertible(
            "RotaryEmbedding rotates a part of each head that does not fit its table of cosines", "correct the model"
        )
    node.become.RotaryEmbedding(
        node.input(_X),
        node.input(_COS),
        node.input(_SIN),
        _positions(node),
        interleaved=interleaved,
        num_heads=heads or None,
        rotary_embedding_dim=part or None,
    )


def _head_size(node: Node, heads: int) -> int:
    """The number of elements of each head of x, which has an axis of heads, or `heads` heads side by side in the last axis."""
    return node.need_dimension(3) if node.need_rank() == 4 else node.need_dimension(2) // max(heads, 1)


def _positions(node: Node) -> str:
    """The position of each element, [batch, length]: one number is the position of the first element of all sequences."""
    op = node.op
    if node.need_rank(_POSITIONS) == 2:
        return node.input(_POSITIONS)
    count = length(node, node.input(_X), 1 if node.need_rank() == 3 else 2)
    row = op.Unsqueeze(op.Add(node.input(_POSITIONS), count_from_zero(node, count)), op.int64([0]))
    if node.dimension(0) == 1 or node.target < 23:  # what stands in its place below is broadcast
        return row
    return op.Expand(row, op.Concat(length(node, node.input(_X), 0), op.int64([1]), axis=0))
