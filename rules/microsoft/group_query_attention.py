"""GroupQueryAttention of onnxruntime, with its cache of past keys and values, of which each sequence fills a part of its own.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupQueryAttention
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.attention_masks import count_from_zero, lowest
from ..shared.contrib import contrib
from ..shared.heads import heads_first, put_together, scaled, transposed, with_heads
from ..shared.indices import length

_Q, _K, _V, _PAST_KEY, _PAST_VALUE, _LAST, _TOTAL, _COS, _SIN, _POSITIONS, _ADDED, _SINK = range(12)
_NOT_WRITTEN = ("k_scale", "v_scale", "q_norm_weight", "k_norm_weight", "query_seqlens")
"""The inputs behind these."""
_PRESENT_KEY, _PRESENT_VALUE, _SCORES = 1, 2, 3


class _Cache(NamedTuple):
    """Where new keys go in the cache, in which each sequence has its past keys first, then the new ones.

    Vectors have one element, and all numbers are int64. Without past keys `source` and `filled` are "".
    """

    size: str
    """The number of places: a vector."""
    columns: str
    """The number of places that a query may see: a vector."""
    rows: str
    """The place of each new key: [batch or 1, length]."""
    last: str
    """The place of the last key of each sequence: [batch, 1, 1, 1]."""
    source: str
    """Where the key of each place is in the past keys followed by the new ones: [batch, heads, places, size]."""
    filled: str
    """Whether there is a key at a place: bool [batch, 1, places, 1]."""


@contrib("GroupQueryAttention", opset=13, sums=True)
def attend(node: Node) -> None:
    """The node becomes softmax(scale · q · kᵀ + masks) · v; new keys and values are put behind the past ones of each sequence."""
    _refuse(node)
    op, kind = node.op, node.need_elem_type()
    heads = node.attr("num_heads")
    q, k, v = _operands(node)
    size = node.need_dimension(3, q)
    cache = _cache(node)
    q, k, v = heads_first(node, q), heads_first(node, k), heads_first(node, v)
    if node.attr("do_rotary", 0):
        q, k = _rotated(node, q, k, cache)
    keys = _stored(node, k, cache, _PAST_KEY, _PRESENT_KEY)
    values = _stored(node, v, cache, _PAST_VALUE, _PRESENT_VALUE)
    q, turned = _exact(node, q, kind), _exact(node, transposed(node, _for_each_query(node, keys)), kind)
    scores = op.MatMul(scaled(node, q, node.attr("scale", 0.0) or 1 / sqrt(size), _kind_of_scores(kind)), turned)
    weights = _weights(node, scores, cache, kind)
    put_together(node, op.MatMul(weights, _for_each_query(node, values)), heads * size, node.output(0))
    node.remove()


def _refuse(node: Node) -> None:
    """Raises Unconvertible for what is not written: caches that are quantized or forget keys, and padded queries."""
    for index, name in enumerate(_NOT_WRITTEN, start=_SINK + 1):
        if node.has_input(index):
            raise Unconvertible(f"GroupQueryAttention with {name} is not written in older operators")
    for name, usual in (("sliding_window_cache", 0), ("k_quant_type", "NONE"), ("v_quant_type", "NONE"), ("kv_cache_bit_width", 0)):
        if node.attr(name, usual) != usual:
            raise Unconvertible(f"GroupQueryAttention with {name}={node.attr(name)} is not written in older operators")
    if node.has_input(_PAST_KEY) != node.has_input(_PAST_VALUE):
        raise Unconvertible("GroupQueryAttention has past keys without values, or values without keys", "correct the model")
    if node.has_input(_PAST_KEY) and not (node.has_output(_PRESENT_KEY) and node.has_output(_PRESENT_VALUE)):
        reason = "GroupQueryAttention has past keys, and onnxruntime only computes with them if the present ones are outputs"
        raise Unconvertible(reason, "give the node its outputs present_key and present_value")
    if node.has_output(_SCORES) and (node.has_input(_PAST_KEY) or node.attr("qk_output", 0) not in (1, 2)):
        raise Unconvertible("GroupQueryAttention with the output output_qk is written without past keys only", "remove this output")


def _kind_of_scores(kind: int) -> int:
    """The element type of the scores: float for float16, as in onnxruntime, since a score may well be beyond 65504."""
    return TensorProto.FLOAT if kind == TensorProto.FLOAT16 else kind


def _exact(node: Node, name: str, kind: int) -> str:
    """What enters the scores, of type `kind`, in their type."""
    return node.op.Cast(name, to=_kind_of_scores(kind)) if _kind_of_scores(kind) != kind else name


def _rounded(node: Node, name: str, kind: int) -> str:
    """What comes from the scores in the type `kind` of the node."""
    return node.op.Cast(name, to=kind) if _kind_of_scores(kind) != kind else name


def _operands(node: Node) -> list[str]:
    """Queries, keys and values, [batch, length, heads, size]."""
    heads, shared = node.attr("num_heads"), node.attr("kv_num_heads")
    names = node.inputs[:3]
    if not node.has_input(_K):
        size = node.need_dimension(2) // (heads + 2 * shared)
        sizes = [heads * size, shared * size, shared * size]
        names = node.op.Split(node.input(_Q), node.op.int64(sizes), outputs=3, axis=2)
    return [with_heads(node, name, count) for name, count in zip(names, (heads, shared, shared), strict=True)]


def _cache(node: Node) -> _Cache:
    """Where the keys go. A call with as many tokens in all as new ones is a prompt, which begins at 0 even if there is a past."""
    op = node.op
    count = length(node, node.input(_Q), 1)
    steps = op.Unsqueeze(count_from_zero(node, count), op.int64([0]))
    last = op.Reshape(op.Cast(node.input(_LAST), to=TensorProto.INT64), op.int64([-1, 1, 1, 1]))
    if not node.has_input(_PAST_KEY):
        return _Cache(count, count, steps, last, "", "")
    total = _total(node)
    starts = op.Reshape(last, op.int64([-1, 1]))
    if node.dimension(1) != 1:
        starts = op.Where(op.Equal(total, count), op.int64([0]), op.Sub(starts, op.Sub(count, op.int64([1]))))
    size = op.Max(total, length(node, node.input(_PAST_KEY), 2))
    columns = total if node.has_input(_ADDED) else size
    return _Cache(size, columns, op.Add(starts, steps), last, *_sources(node, starts, count, size))


def _total(node: Node) -> str:
    """The number of tokens in the longest sequence: a vector."""
    return node.op.Reshape(node.op.Cast(node.input(_TOTAL), to=TensorProto.INT64), node.op.int64([1]))


def _sources(node: Node, starts: str, count: str, size: str) -> tuple[str, str]:
    """`source` and `filled` of the cache, where the new keys, `count` ones, begin at the places `starts`, [batch, 1]."""
    op, old = node.op, node.input(_PAST_KEY)
    places, before = count_from_zero(node, size), length(node, old, 2)
    behind = op.Sub(places, starts)
    source = op.Where(op.Less(behind, op.int64([0])), places, op.Add(behind, before))
    source = op.Min(source, op.Sub(op.Add(before, count), op.int64([1])))
    sizes = op.Concat(*(length(node, old, axis) for axis in (0, 1)), size, length(node, old, 3), axis=0)
    columns = op.int64([1, 3])
    return op.Expand(op.Unsqueeze(source, columns), sizes), op.Unsqueeze(op.Less(behind, count), columns)


def _rotated(node: Node, q: str, k: str, cache: _Cache) -> list[str]:
    """Queries and keys, rotated by the angles of their positions."""
    op = node.op
    positions = cache.rows
    if node.has_input(_POSITIONS):
        positions = _given_positions(node, cache)
    if not cache.source and node.dimension(0) != 1 and node.target >= 23:
        positions = op.Expand(positions, op.Concat(length(node, node.input(_Q), 0), op.int64([1]), axis=0))
    turned = 2 * node.need_dimension(1, _COS)
    part = turned if turned != node.need_dimension(3, q) else None
    angles = [op.Gather(node.input(index), positions, axis=0) for index in (_COS, _SIN)]
    counts = (node.attr("num_heads"), node.attr("kv_num_heads"))
    return [
        op.RotaryEmbedding(
            x,
            *angles,
            opset=23,
            interleaved=node.attr("rotary_interleaved", 0),
            rotary_embedding_dim=part,
            num_heads=count if part else None,
        )
        for x, count in zip((q, k), counts, strict=True)
    ]


def _given_positions(node: Node, cache: _Cache) -> str:
    """The input position_ids, of which a prompt uses the first number only, as that of its first token."""
    op = node.op
    first = op.Slice(node.input(_POSITIONS), op.int64([0, 0]), op.int64([1, 1]))
    count = length(node, node.input(_Q), 1)
    counted = op.Add(first, count_from_zero(node, count))
    return op.Where(op.Equal(_total(node), count), counted, node.input(_POSITIONS)) if cache.source else counted


def _stored(node: Node, new: str, cache: _Cache, past: int, present: int) -> str:
    """The keys or values of the cache with the new ones behind the past ones of each sequence, and zeros behind these.

    [batch, heads, places, size]. The result becomes an output if the node has it.
    """
    op = node.op
    if cache.source:
        gathered = op.GatherElements(op.Concat(node.input(past), new, axis=2), cache.source, axis=2)
        new = op.Where(cache.filled, gathered, op.const(0, node.need_elem_type()))
    if node.has_output(present):
        op.Identity(new, output=node.output(present))
    if cache.columns != cache.size:
        new = op.Slice(new, op.int64([0]), cache.columns, op.int64([2]))
    return new


def _for_each_query(node: Node, name: str) -> str:
    """[batch, keys, places, size] as [batch, queries, places, size]: each head as often as queries share it."""
    heads, shared = node.attr("num_heads"), node.attr("kv_num_heads")
    if shared in (1, heads):
        return name  # a matrix product broadcasts one head
    return node.op.Gather(name, node.op.int64(np.repeat(np.arange(shared), heads // shared)), axis=1)


def _weights(node: Node, scores: str, cache: _Cache, kind: int) -> str:
    """The softmax of the scores, without the keys that a query does not see, in the type `kind`."""
    op, cap, precise = node.op, node.attr("softcap", 0.0), _kind_of_scores(kind)
    if cap > 0:
        cap = op.const(cap, precise)
        scores = op.Mul(op.Tanh(op.Div(scores, cap)), cap)
    if node.has_input(_ADDED):
        scores = op.Add(scores, _exact(node, node.input(_ADDED), kind))
    hidden = _hidden(node, cache)
    if node.attr("qk_output", 0) == 1 and node.has_output(_SCORES):
        op.Where(hidden, op.const(0, kind), _rounded(node, scores, kind), output=node.output(_SCORES))
    scores = op.Where(hidden, op.const(-np.inf, precise), scores)
    weights = _softmax(node, scores, precise)
    if node.has_input(_ADDED) or _counts_padding(node):
        sees_one = op.Greater(op.ReduceMax(scores, axes=[-1], keepdims=1), op.const(lowest(precise), precise))
        weights = op.Where(sees_one, weights, op.const(0, precise))
    weights = _rounded(node, weights, kind)
    if node.attr("qk_output", 0) == 2 and node.has_output(_SCORES):
        op.Identity(weights, output=node.output(_SCORES))
    return weights


def _softmax(node: Node, scores: str, kind: int) -> str:
    """The softmax of the scores, with one more score for each head that takes a share and has no value."""
    op = node.op
    if not node.has_input(_SINK) and node.attr("smooth_softmax", 0) != 1:
        return op.Softmax(scores, axis=-1)
    heads = node.attr("num_heads")
    sink = op.const(0, kind)
    if node.has_input(_SINK):
        sink = op.Reshape(_exact(node, node.input(_SINK), node.need_elem_type()), op.int64([1, heads, 1, 1]))
    sizes = [length(node, node.input(_Q), 0), op.int64([heads]), length(node, node.input(_Q), 1), op.int64([1])]
    with_sink = op.Concat(op.Expand(sink, op.Concat(*sizes, axis=0)), scores, axis=3)
    weights = op.Softmax(with_sink, axis=-1)
    return op.Slice(weights, op.int64([1]), op.int64([np.iinfo(np.int64).max]), op.int64([3]))


def _hidden(node: Node, cache: _Cache) -> str:
    """Whether a query does not see a key, which is padding, later or out of the window: bool [batch, 1, length, places]."""
    op = node.op
    places = count_from_zero(node, cache.columns)
    if not node.attr("causal", 1):
        return op.Greater(places, cache.last)
    rows = op.Unsqueeze(cache.rows, op.int64([1, 3]))
    newest = op.Min(rows, cache.last)
    hidden = op.Greater(places, newest)
    window = node.attr("local_window_size", -1)
    if window > 0:
        end = rows if _counts_padding(node) else newest
        hidden = op.Or(hidden, op.Not(op.Greater(places, op.Sub(end, op.int64([window])))))
    return hidden


def _counts_padding(node: Node) -> bool:
    """Whether the window of a padded query ends at its own place, so that it may hold no key, and not at the last key.

    onnxruntime's fast kernel counts so, which it takes for the plain softmax of float scores.
    """
    is_windowed = node.attr("causal", 1) != 0 and node.attr("local_window_size", -1) > 0
    is_plain = node.attr("softcap", 0.0) <= 0 and node.attr("smooth_softmax", 0) != 1 and not node.has_input(_SINK)
    return is_windowed and is_plain and not node.has_output(_SCORES) and node.need_elem_type() == TensorProto.FLOAT
