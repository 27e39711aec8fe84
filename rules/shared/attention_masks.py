"""Masks of onnxruntime's attention operators as numbers that are added to the scores.

Its kernels add mask_filter_value where a key is padding, and put the lowest number of the type, and not minus infinity, where a
key comes after the query: a query that sees no key gets the mean of all values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.graph.node import Node

_LOWEST: dict[int, float] = {TensorProto.FLOAT16: -65504.0, TensorProto.BFLOAT16: -3.3895313892515355e38}
_LARGEST_TABLE = 1 << 20
"""The number of entries up to which a mask is written as a constant: that of 1024 tokens, which GPT-2 has as well."""


class Lengths(NamedTuple):
    """The numbers of queries, of past keys and of all keys, as vectors of one int64."""

    queries: str
    past: str
    keys: str
    is_self_attention: bool
    """Whether it is proven that keys, without the past ones, are as many as queries."""


def lowest(kind: int) -> float:
    """The lowest number of a floating-point type."""
    return _LOWEST.get(kind, float(np.finfo(np.float32).min))


def padding_bias(node: Node, visible: str, kind: int) -> str:
    """0 where `visible`, bool, is true, and mask_filter_value elsewhere."""
    op, value = node.op, node.attr("mask_filter_value", -10000.0)
    if value < lowest(kind):
        value = -np.inf
    return op.Where(visible, op.const(0, kind), op.const(value, kind))


def marked_visible(node: Node, mask: int) -> str:
    """The mask [batch, keys] or [batch, queries, keys], where a key counts if it is marked by a positive number, as bool with an
    axis for the heads.
    """
    op = node.op
    marked = op.Greater(node.input(mask), op.const(0, node.need_elem_type(mask)))
    return op.Unsqueeze(marked, op.int64([1, 2] if node.need_rank(mask) == 2 else [1]))


def visible_between(node: Node, starts: str, ends: str, keys: str) -> str:
    """Whether each of the `keys`, counted by a vector of one int64, is one of its sequence: bool [batch, 1, 1, keys].

    `ends` holds the number of each sequence's first key that is padding, and `starts`, if it is not empty, of its first key that is
    not, as int32 [batch].
    """
    op = node.op
    places = count_from_zero(node, keys)
    before_end = op.Less(places, _column(node, ends))
    if starts:
        before_end = op.And(before_end, op.Not(op.Less(places, _column(node, starts))))
    return op.Unsqueeze(before_end, op.int64([1, 2]))


def _column(node: Node, name: str) -> str:
    return node.op.Unsqueeze(node.op.Cast(name, to=TensorProto.INT64), node.op.int64([1]))


def count_from_zero(node: Node, size: str) -> str:
    """The int64 numbers from 0 to `size`, a vector of one int64, a constant where it is known."""
    op, known = node.op, node.constant(size)
    if known is not None and int(known[0]) <= _LARGEST_TABLE:
        return op.int64(np.arange(int(known[0])))
    return op.Range(op.int64(0), scalar(node, size), op.int64(1))


def scalar(node: Node, vector: str) -> str:
    """A vector of one element as a scalar, a constant where it is known."""
    op, known = node.op, node.constant(vector)
    return op.const(known[0], known.dtype) if known is not None else op.Squeeze(vector, op.int64([0]))


def causal_bias(node: Node, sizes: Lengths, kind: int, padding: str) -> str:
    """`padding`, which may be "" for none, with the lowest number where a key comes after the query: [queries, keys], or more axes
    as in `padding`. Returns "" where nothing is masked.

    The last query sees all keys, as in onnxruntime, even if there are more of them than queries and past keys.
    """
    op = node.op
    known = [int(size[0]) for name in sizes[:3] if (size := node.constant(name)) is not None]
    if len(known) == 3 and known[0] * known[2] <= _LARGEST_TABLE:
        return _known_causal_bias(node, known, kind, padding)
    places = count_from_zero(node, sizes.keys)
    later = op.Greater(places, op.Unsqueeze(_last_seen(node, sizes, places), op.int64([1])))
    return op.Where(later, op.const(lowest(kind), kind), padding or op.const(0, kind))


def _last_seen(node: Node, sizes: Lengths, places: str) -> str:
    """The number of the last key that each query sees, or a larger one."""
    op, past = node.op, node.constant(sizes.past)
    begins_at_zero = past is not None and not past.any()
    if sizes.is_self_attention and begins_at_zero:
        return places
    first, one = scalar(node, sizes.past), op.int64(1)
    if sizes.is_self_attention:
        return op.Range(first, scalar(node, sizes.keys), one)
    last = op.Sub(sizes.queries, op.int64([1]))
    last = scalar(node, last if begins_at_zero else op.Add(sizes.past, last))
    return op.Concat(op.Range(first, last, one), sizes.keys, axis=0)


def _known_causal_bias(node: Node, sizes: list[int], kind: int, padding: str) -> str:
    op, (queries, past, keys) = node.op, sizes
    limits = np.append(past + np.arange(queries - 1), keys)
    later = np.arange(keys) > limits[:, None]
    if not later.any():
        return padding
    if not padding:
        return op.const(np.where(later, lowest(kind), 0), kind)
    return op.Where(op.const(later, np.bool_), op.const(lowest(kind), kind), padding)
