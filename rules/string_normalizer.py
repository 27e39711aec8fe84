"""StringNormalizer below opset 10, where it leaves the case of letters alone.

https://onnx.ai/onnx/operators/onnx__StringNormalizer.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64


@decompose("StringNormalizer", opset=9)
def drop_stopwords(node: Node) -> None:
    """TfIdfVectorizer finds the stopwords, and a Gather keeps the other words, or an empty string where there are none."""
    stopwords = list(dict.fromkeys(node.attr("stopwords") or []))
    if node.attr("case_change_action", "NONE") != "NONE" or (stopwords and not node.attr("is_case_sensitive", 0)):
        raise Unconvertible("older operators cannot change or ignore the case of letters")
    if not stopwords:
        node.become("Identity", [node.input(0)])
        return
    rank = node.need_rank()
    words = node.before("Reshape", [node.input(0), int64(node, [-1], "flat")], what="words")
    kept = node.before(
        "Cast", [node.before("Not", [_is_any_of(node, words, stopwords)], what="kept")], what="kept", to=TensorProto.FLOAT
    )
    some = node.before("ReduceMax", [kept], what="some", axes=[0], keepdims=1)
    none = node.before("Sub", [node.add_constant([1], np.float32, "one"), some], what="none")
    places = node.before("NonZero", [node.before("Concat", [kept, none], what="chosen", axis=0)], what="places")
    places = node.before("Reshape", [places, int64(node, [-1] if rank == 1 else [1, -1], "form")], what="places")
    empty = node.add_constant([""], object, "empty")
    node.become("Gather", [node.before("Concat", [words, empty], what="words", axis=0), places], axis=0)


def _is_any_of(node: Node, words: str, pool: list[str]) -> str:
    """Which of `words` are in `pool`: TfIdfVectorizer counts the words of texts of one word each."""
    texts = node.before("Reshape", [words, int64(node, [-1, 1], "column")], what="texts")
    counts = node.before(
        "TfIdfVectorizer",
        [texts],
        what="counts",
        mode="TF",
        min_gram_length=1,
        max_gram_length=1,
        max_skip_count=0,
        ngram_counts=[0],
        ngram_indexes=list(range(len(pool))),
        pool_strings=pool,
    )
    total = node.before("ReduceSum", [counts], what="total", axes=[1], keepdims=0)
    return node.before("Greater", [total, node.add_constant(0, np.float32, "zero")], what="is_stopword")
