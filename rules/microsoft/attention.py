"""Attention of onnxruntime, which projects its input to queries, keys and values itself.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.Attention
"""

from __future__ import annotations

from math import sqrt

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.attention_masks import Lengths, causal_bias, marked_visible, padding_bias, visible_between
from ..shared.contrib import contrib
from ..shared.heads import biased, grown, heads_first, keys_last, scaled, transposed, weighted, with_heads
from ..shared.indices import length

_X, _WEIGHTS, _BIAS, _MASK, _PAST, _ADDED, _PAST_LENGTH = range(7)
_PRESENT = 1


@contrib("Attention", opset=13, sums=True)
def attend(node: Node) -> None:
    """The node becomes a product with the weights, a Split, and softmax(scale · q · kᵀ + masks) · v with an axis for the heads."""
    _refuse(node)
    heads, kind = node.attr("num_heads"), node.need_elem_type()
    q, k, v, width = _projected(node, heads)
    scale = node.attr("scale", 0.0) or 1 / sqrt(width // heads)
    queries = heads_first(node, scaled(node, q, scale, kind))
    if node.has_input(_PAST) or node.has_output(_PRESENT):
        keys, values = _with_past(node, heads_first(node, k), heads_first(node, v))
    else:
        keys, values = keys_last(node, k), heads_first(node, v)
    scores = biased(node, node.op.MatMul(queries, keys), node.input(_ADDED), _masks(node, keys, kind))
    weighted(node, scores, values, heads)


def _refuse(node: Node) -> None:
    if node.attr("do_rotary", 0):
        raise Unconvertible(
            "Attention with do_rotary has positions that only onnxruntime's kernel for CUDA knows",
            "fuse the model to MultiHeadAttention and RotaryEmbedding instead",
        )
    if node.attr("past_present_share_buffer", 0):
        raise Unconvertible(
            "Attention with past_present_share_buffer keeps past and present in one buffer, which no operator of ONNX does",
            "export the decoder without past_present_share_buffer",
        )
    if node.has_input(_PAST) and not node.has_output(_PRESENT):
        raise Unconvertible(
            "Attention has past keys, and onnxruntime requires the output present then", "give the node this output"
        )


def _projected(node: Node, heads: int) -> tuple[str, str, str, int]:
    """Queries, keys and values, [batch, length, heads, size], and heads * size of queries and keys."""
    op = node.op
    total = op.MatMul(node.input(_X), node.input(_WEIGHTS))
    if node.has_input(_BIAS):
        total = op.Add(total, node.input(_BIAS))
    sizes = node.attr("qkv_hidden_sizes") or [node.need_dimension(1, _WEIGHTS) // 3] * 3
    if len(sizes) != 3 or any(size % heads for size in sizes) or sizes[0] != sizes[1]:
        raise Unconvertible(f"Attention cannot divide the widths {sizes} among {heads} heads", "correct the model")
    if sizes[1] != sizes[2] and (node.has_input(_PAST) or node.has_output(_PRESENT)):
        raise Unconvertible(
            f"Attention keeps past keys and values, of the widths {sizes[1:]}, in one tensor, which has one width",
            "correct the model",
        )
    parts = op.Split(total, op.int64(sizes), outputs=3, axis=2)
    q, k, v = (with_heads(node, part, heads) for part in parts)
    return q, k, v, sizes[0]


def _with_past(node: Node, keys: str, values: str) -> tuple[str, str]:
    """All keys, transposed, and all values. Both together become the output present, if the node has it."""
    op, pasts = node.op, ["", ""]
    if node.has_input(_PAST):
        pasts = [op.Gather(node.input(_PAST), op.int64(index), axis=0) for index in range(2)]
    keys, values = (grown(node, name, past, "") for name, past in zip((keys, values), pasts, strict=True))
    if node.has_output(_PRESENT):
        both = [op.Unsqueeze(name, op.int64([0])) for name in (keys, values)]
        op.Concat(*both, axis=0, output=node.output(_PRESENT))
    return transposed(node, keys), values


def _masks(node: Node, keys: str, kind: int) -> str:
    """What is added to the scores for the masks; "" for nothing."""
    op = node.op
    all_keys = length(node, keys, 3)
    visible = _visible(node, all_keys) if node.has_input(_MASK) else ""
    bias = padding_bias(node, visible, kind) if visible else ""
    if node.attr("unidirectional", 0) and node.dimension(1) != 1:
        past = length(node, node.input(_PAST), 3) if node.has_input(_PAST) else op.int64([0])
        bias = causal_bias(node, Lengths(length(node, node.input(_X), 1), past, all_keys, is_self_attention=True), kind, bias)
    return bias


def _visible(node: Node, keys: str) -> str:
    """Whether each key is none of the padding, as bool with four dimensions; "" where the mask is one that masks nothing."""
    rank = node.need_rank(_MASK)
    if rank == 4:
        raise Unconvertible("Attention with a mask of 4 dimensions runs on CUDA only, by rules of its own", "give it 3 dimensions")
    if rank == 2 and node.dimension(1, _MASK) == 1:
        return ""  # [batch, 1] or [1, 1]: a mask that onnxruntime's fusions make up
    if rank > 1:
        return marked_visible(node, _MASK)
    return visible_between(node, *_starts_and_ends(node), keys)


def _starts_and_ends(node: Node) -> tuple[str, str]:
    """The numbers of the first and of the last key, which is exclusive, of each sequence; "" for starts at 0."""
    op, mask = node.op, node.input(_MASK)
    count, batch = node.dimension(0, _MASK), node.dimension(0)
    if count is not None and count == batch:
        return "", mask
    if not isinstance(count, int) or not isinstance(batch, int):
        reason = "mask_index has one dimension, whose length says whether it holds ends, or ends and starts, and is unknown"
        raise Unconvertible(reason, node.shape_hint(_MASK))
    if count == 2 * batch:
        ends, starts = op.Split(mask, op.int64([batch, batch]), outputs=2, axis=0)
        return starts, ends
    if count == 3 * batch + 2:
        return "", op.Slice(mask, op.int64([0]), op.int64([batch]))
    raise Unconvertible(f"Attention takes no mask_index of {count} numbers for {batch} sequences", "correct the model")
