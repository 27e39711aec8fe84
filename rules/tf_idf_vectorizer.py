"""TfIdfVectorizer below opset 9, for numbers: every window is compared with every n-gram of the pool, and matches are counted.

Strings are refused, because no operator compares them below opset 9. The weights are those of the n-grams of the pool, as in the
specification and onnxruntime.
https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.tables import arange

_TO_THE_END = np.iinfo(np.int64).max
"""The end of a Slice that takes everything."""


@decompose("TfIdfVectorizer", opset=8)
def count_equal_windows(node: Node) -> None:
    """The windows equal to each n-gram are counted, [..., n-grams], and the counts multiplied by a matrix of weights."""
    op = node.op
    if node.need_elem_type() == TensorProto.STRING:
        raise Unconvertible("older operators cannot compare strings")
    if node.has_attr("pool_strings") and node.has_attr("pool_int64s"):
        raise Unconvertible("it has a pool of strings and one of numbers, which has no meaning", "remove one of them")
    pool, places = _pool(node), np.array(node.attr("ngram_indexes"))
    mode, weights = node.attr("mode"), np.array(node.attr("weights") or [1.0] * len(places), np.float32)
    if len(weights) != len(places) or sum(map(len, pool.values())) != len(places):
        raise Unconvertible("the pool, ngram_indexes and weights do not have the same number of n-grams")
    if mode != "TF" and len(set(places.tolist())) < len(places):
        raise Unconvertible(f"mode {mode} of two n-grams with one ngram_index has no meaning")
    matrix = np.zeros((len(places), places.max() + 1), np.float32)
    matrix[arange(len(places)), places] = 1 if mode == "TF" else weights
    sizes = np.repeat(list(pool), [len(grams) for grams in pool.values()])
    counted = [size for size in range(node.attr("min_gram_length"), node.attr("max_gram_length") + 1) if size in sizes]
    if not counted:
        raise Unconvertible("the pool has no n-grams of the lengths that count, and a result of zeros has no older form")
    axis, data = node.need_rank() - 1, op.Cast(node.input(0), to=TensorProto.INT64)
    found = op.Concat(*([_count(node, data, pool[size], axis) for size in counted]), axis=axis)
    if mode == "IDF":
        found = op.Cast(found, to=TensorProto.BOOL)
        found = op.Cast(found, to=TensorProto.FLOAT)
    node.become.MatMul(found, op.const(matrix[np.isin(sizes, counted)], np.float32))


def _pool(node: Node) -> dict[int, np.ndarray]:
    """The n-grams by their length n, as [n-grams, n]. Raises Unconvertible where one occurs twice."""
    numbers, starts = np.array(node.attr("pool_int64s", []), np.int64), node.attr("ngram_counts")
    pool: dict[int, np.ndarray] = {}
    for size, (start, end) in enumerate(zip(starts, [*starts[1:], len(numbers)], strict=True), 1):
        grams = numbers[start:end]
        if len(grams) % size or not 0 <= start <= end:
            raise Unconvertible(f"ngram_counts {starts} do not cut the pool into whole n-grams")
        pool[size] = grams.reshape(-1, size)
        if len(np.unique(pool[size], axis=0)) < len(pool[size]):
            raise Unconvertible("an n-gram that is in the pool twice has no meaning")
    return pool


def _count(node: Node, data: str, grams: np.ndarray, axis: int) -> str:
    """The counts of each of `grams`, [n-grams, n], in the data, with every allowed skip: [..., n-grams], in float."""
    size = grams.shape[1]
    skips = node.attr("max_skip_count", 0) if size > 1 else 0
    counts = [_count_with_skips(node, data, grams, axis, skip + 1) for skip in range(skips + 1)]
    return node.op.Sum(*counts)


def _count_with_skips(node: Node, data: str, grams: np.ndarray, axis: int, step: int) -> str:
    """The number of times that each of `grams` occurs if the numbers of a window are `step` apart."""
    op = node.op
    size = grams.shape[1]
    equal = ""
    for place in range(size):
        behind = (size - 1 - place) * step
        ends = [-behind if behind else _TO_THE_END]
        numbers = op.Slice(data, starts=[place * step], ends=ends, axes=[axis])
        numbers = op.Unsqueeze(numbers, axes=[axis + 1])
        wanted = op.int64(grams[:, place].tolist())
        same = op.Equal(numbers, wanted)
        equal = op.And(equal, same) if equal else same
    found = op.Cast(equal, to=TensorProto.FLOAT)
    return op.ReduceSum(found, axes=[axis], keepdims=0)
