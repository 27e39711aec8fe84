"""MultiHeadAttention of onnxruntime, and what of DecoderMaskedMultiHeadAttention does not share a buffer between past and present.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.MultiHeadAttention
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.attention_masks import Lengths, causal_bias, marked_visible, padding_bias, visible_between
from ..shared.contrib import contrib
from ..shared.heads import biased, grown, heads_first, keys_last, scaled, transposed, weighted, with_heads
from ..shared.indices import length
from ..shared.normalization import cast_between

_Q, _K, _V, _BIAS, _MASK, _ADDED, _PAST_KEY, _PAST_VALUE, _PAST_LENGTH, _INDIRECTION = range(10)
_PRESENT_KEY, _PRESENT_VALUE, _SCORES = 1, 2, 3


class _Parts(NamedTuple):
    """Queries [batch, length, heads, size]; keys and values the same, or [batch, heads, length, size] if `come_first`."""

    queries: str
    keys: str
    values: str
    come_first: bool


@contrib("MultiHeadAttention", opset=13, sums=True)
def attend(node: Node) -> None:
    """The node becomes softmax(scale · q · kᵀ + masks) · v, with an axis for the heads."""
    _refuse_shared_buffers(node)
    _need_presents(node)
    heads, kind = node.attr("num_heads"), node.need_elem_type()
    parts = _parts(node, heads)
    size = node.need_dimension(3, parts.queries)
    scale = node.attr("scale", 0.0) or 1 / sqrt(size)
    queries = heads_first(node, scaled(node, parts.queries, scale, kind))
    keys = _keys(node, parts)
    scores = biased(node, node.op.MatMul(queries, keys), node.input(_ADDED), _masks(node, keys, parts.come_first, kind))
    if node.has_output(_SCORES):
        node.op.Identity(
            cast_between(node, scores, kind, node.elem_type(node.output(_SCORES)) or kind), output=node.output(_SCORES)
        )
    weighted(node, scores, _values(node, parts), heads)


def _refuse_shared_buffers(node: Node) -> None:
    for index, name in ((_PAST_LENGTH, "past_sequence_length"), (_INDIRECTION, "cache_indirection")):
        if node.has_input(index):
            reason = f"{node.op_type} with {name} keeps past and present in one buffer, which no operator of ONNX does"
            raise Unconvertible(reason, "export the decoder without past_present_share_buffer")


def _need_presents(node: Node) -> None:
    """Raises Unconvertible where past keys are not given on: there onnxruntime's CPU kernel reads what it never wrote."""
    if node.has_input(_PAST_KEY) and not (node.has_output(_PRESENT_KEY) and node.has_output(_PRESENT_VALUE)):
        reason = f"{node.op_type} has past keys, and onnxruntime only computes with them if the present ones are outputs"
        raise Unconvertible(reason, "give the node its outputs present_key and present_value")


def _parts(node: Node, heads: int) -> _Parts:
    """Queries, keys and values, apart from each other and with their bias, in each of the layouts that the inputs may have."""
    op = node.op
    if not node.has_input(_K):
        packed = node.input(_Q)
        if node.need_rank(_Q) != 5:
            raise Unconvertible(
                "MultiHeadAttention without a key has queries, keys and values in 5 dimensions", "correct the model"
            )
        q, k, v = (op.Gather(packed, op.int64(index), axis=3) for index in range(3))
        biases = _biases(node, *[heads * node.need_dimension(4)] * 2)
        q, k, v = (_plus_heads(node, name, bias, heads) for name, bias in zip((q, k, v), biases, strict=True))
        return _Parts(q, k, v, come_first=False)
    width = node.need_dimension(2)
    if node.need_rank(_K) == 5:
        if node.has_input(_BIAS):
            raise Unconvertible("MultiHeadAttention has no bias where keys and values are one input", "correct the model")
        k, v = (op.Gather(node.input(_K), op.int64(index), axis=3) for index in range(2))
        return _Parts(with_heads(node, node.input(_Q), heads), k, v, come_first=False)
    if node.need_rank(_K) == 4:
        if node.has_input(_BIAS):
            raise Unconvertible("MultiHeadAttention has no bias for keys in 4 dimensions", "correct the model")
        return _Parts(with_heads(node, node.input(_Q), heads), *node.inputs[1:3], come_first=True)
    biases = _biases(node, width, width)
    flat = (_plus(node, node.input(index), bias) for index, bias in zip((_Q, _K, _V), biases, strict=True))
    return _Parts(*(with_heads(node, name, heads) for name in flat), come_first=False)


def _biases(node: Node, *widths: int) -> list[str]:
    """The parts of the bias, of which the first have these `widths`, and the last one takes the rest; "" where a part is absent,
    or all zeros.
    """
    op, name = node.op, node.input(_BIAS)
    if not name:
        return [""] * (len(widths) + 1)
    value = node.constant(name)
    if value is not None:
        parts = np.split(value, np.cumsum(widths))
        return [op.const(part, node.need_elem_type(name)) if part.any() else "" for part in parts]
    sizes = [*widths, node.need_dimension(0, name) - sum(widths)]
    return op.Split(name, op.int64(sizes), outputs=len(sizes), axis=0)


def _plus(node: Node, name: str, bias: str) -> str:
    return node.op.Add(name, bias) if bias else name


def _plus_heads(node: Node, name: str, bias: str, heads: int) -> str:
    return node.op.Add(name, node.op.Reshape(bias, node.op.int64([heads, -1]))) if bias else name


def _keys(node: Node, parts: _Parts) -> str:
    """All keys, transposed: [batch, heads, size, length]."""
    if not parts.come_first and not node.has_input(_PAST_KEY) and not node.has_output(_PRESENT_KEY):
        return keys_last(node, parts.keys)
    keys = parts.keys if parts.come_first else heads_first(node, parts.keys)
    return transposed(node, grown(node, keys, node.input(_PAST_KEY), node.output(_PRESENT_KEY)))


def _values(node: Node, parts: _Parts) -> str:
    """All values: [batch, heads, length, size]."""
    values = parts.values if parts.come_first else heads_first(node, parts.values)
    return grown(node, values, node.input(_PAST_VALUE), node.output(_PRESENT_VALUE))


def _masks(node: Node, keys: str, come_first: bool, kind: int) -> str:
    """What is added to the scores for the masks; "" for nothing."""
    op = node.op
    all_keys = length(node, keys, 3)
    bias = padding_bias(node, _visible(node, all_keys), kind) if node.has_input(_MASK) else ""
    if node.attr("unidirectional", 0) and node.dimension(1) != 1:
        past = length(node, node.input(_PAST_KEY), 2) if node.has_input(_PAST_KEY) else op.int64([0])
        sizes = Lengths(length(node, node.input(_Q), 1), past, all_keys, not come_first and _are_as_many_keys(node))
        bias = causal_bias(node, sizes, kind, bias)
    return bias


def _are_as_many_keys(node: Node) -> bool:
    """Whether it is proven that there are as many new keys as queries."""
    if not node.has_input(_K) or node.graph.resolve(node.input(_K)) == node.graph.resolve(node.input(_Q)):
        return True
    origins = [node.graph.origin_of_dimension(node.input(index), 1) for index in (_Q, _K)]
    return origins[0] == origins[1]


def _visible(node: Node, keys: str) -> str:
    """Whether each key is none of the padding: bool with four dimensions."""
    if node.need_rank(_MASK) > 1:
        return marked_visible(node, _MASK)
    op, ends = node.op, node.input(_MASK)
    if node.dimension(0, _MASK) is None or node.dimension(0, _MASK) != node.dimension(0):
        ends = op.Slice(ends, op.int64([0]), length(node, node.input(_Q), 0))  # the first [batch] of 3 * batch + 2 numbers
    return visible_between(node, "", ends, keys)
