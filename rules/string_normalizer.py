"""StringNormalizer below opset 10, where it does not change the case of letters.

https://onnx.ai/onnx/operators/onnx__StringNormalizer.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@decompose("StringNormalizer", opset=9)
def drop_stopwords(node: Node) -> None:
    """TfIdfVectorizer finds the stopwords, and a Gather keeps the other words; if there are none, an empty string."""
    op = node.op
    stopwords = list(dict.fromkeys(node.attr("stopwords") or []))
    if node.attr("case_change_action", "NONE") != "NONE" or (stopwords and not node.attr("is_case_sensitive", 0)):
        raise Unconvertible("older operators cannot change or ignore the case of letters")
    if not stopwords:
        node.become.Identity(node.input(0))
        return
    rank = node.need_rank()
    words = op.Reshape(node.input(0), op.int64([-1]))
    kept = op.Cast(op.Not(_is_any_of(node, words, stopwords)), to=TensorProto.FLOAT)
    some = op.ReduceMax(kept, axes=[0], keepdims=1)
    none = op.Sub(op.const([1], np.float32), some)
    places = op.NonZero(op.Concat(kept, none, axis=0))
    places = op.Reshape(places, op.int64([-1] if rank == 1 else [1, -1]))
    empty = op.const([""], object)
    node.become.Gather(op.Concat(words, empty, axis=0), places, axis=0)


def _is_any_of(node: Node, words: str, pool: list[str]) -> str:
    """Which of `words` are in `pool`: TfIdfVectorizer counts the words in texts of one word each."""
    op = node.op
    texts = op.Reshape(words, op.int64([-1, 1]))
    counts = op.TfIdfVectorizer(
        texts,
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=list(range(len(pool))),
        pool_strings=pool,
    )
    total = op.ReduceSum(counts, axes=[1], keepdims=0)
    return op.Greater(total, op.const(0, np.float32))
