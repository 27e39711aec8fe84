"""TfIdfVectorizer below opset 9: windows compared with the pool, counted."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

ATTRIBUTES = {
    "mode": '"TF"',
    "min_gram_length": "1",
    "max_gram_length": "3",
    "max_skip_count": "0",
    "ngram_counts": "[0, 2, 8]",
    "ngram_indexes": "[2, 0, 1, 4, 5, 6]",
    "pool_int64s": "[1, 2, 1, 1, 1, 2, 2, 1, 1, 2, 1]",
}


def vectorizer(kind="int64", dims="[N,C]", out="[N,D]", **changes):
    given = {**ATTRIBUTES, **changes}
    text = ", ".join(f"{name}={value}" for name, value in given.items())
    return model(f"g ({kind}{dims} x) => (float{out} y) {{ y = TfIdfVectorizer <{text}> (x) }}", 9)


@pytest.mark.parametrize(
    "proto, reason",
    [
        pytest.param(
            vectorizer("string", pool_strings='["a", "b"]', ngram_counts="[0]", ngram_indexes="[0, 1]", max_gram_length="1"),
            "older operators cannot compare strings",
            id="strings",
        ),
        pytest.param(vectorizer(ngram_counts="[0, 1, 8]"), "do not cut the pool into whole n-grams", id="a piece of an n-gram"),
        pytest.param(vectorizer(ngram_indexes="[0, 1]"), "do not have the same number of n-grams", id="too few indexes"),
        pytest.param(vectorizer(mode='"IDF"', weights="[1.0]"), "do not have the same number of n-grams", id="too few weights"),
        pytest.param(
            vectorizer(pool_int64s="[1, 2, 1, 1, 1, 1, 2, 1, 1, 2, 1]"), "that is in the pool twice", id="an n-gram twice"
        ),
        pytest.param(
            vectorizer(mode='"IDF"', ngram_indexes="[2, 0, 1, 4, 5, 5]"), "two n-grams with one ngram_index", id="an index twice"
        ),
        pytest.param(
            vectorizer(min_gram_length="4", max_gram_length="4", ngram_counts="[0, 2, 8, 11]"),
            "of the lengths that count",
            id="none",
        ),
    ],
)
def test_refused(proto, reason):
    assert reason in refusal(proto, 8)


SEQUENCES = np.array([[1, 1, 2, 1, 1, 2], [2, 2, 1, 2, 1, 3], [3, 3, 3, 3, 3, 3]])
WEIGHTS = "[0.5, 2.0, 3.0, 0.25, 7.0, 1.5]"


@pytest.mark.parametrize("mode", ['"TF"', '"IDF"', '"TFIDF"'])
@pytest.mark.parametrize("weights", [{}, {"weights": WEIGHTS}], ids=["plain", "weighted"])
@pytest.mark.parametrize("lengths", [(1, 3), (2, 2), (2, 3), (1, 1)])
@pytest.mark.parametrize("skips", ["0", "2", "9"])
def test_counts(mode, weights, lengths, skips):
    changes = {"min_gram_length": str(lengths[0]), "max_gram_length": str(lengths[1]), "max_skip_count": skips, **weights}
    assert_same(vectorizer(mode=mode, **changes), 7, {"x": SEQUENCES})


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("length", [0, 1, 2, 6])
def test_one_sequence(kind, length):
    assert_same(vectorizer(kind, "[C]", "[D]", max_skip_count="1"), 8, {"x": SEQUENCES[0, :length].astype(kind)})


def test_an_index_twice_counts_both():
    assert_same(vectorizer(ngram_indexes="[2, 0, 1, 4, 5, 5]"), 7, {"x": SEQUENCES})


REWRITES = [
    (
        "tf_idf_vectorizer.count_equal_windows",
        9,
        8,
        'g (int64[4] x) => (float[2] y) { y = TfIdfVectorizer <max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = "TF", ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [3, 5]> (x) }',
        """
            {
              window = Unsqueeze <axes = [1]> (x)
              pool_double = Constant <value = double[2] {3, 5}> ()
              pool = Cast <to = 7> (pool_double)
              equal = Equal (window, pool)
              found = Cast <to = 1> (equal)
              count = ReduceSum <axes = [0], keepdims = 0> (found)
              weights = Constant <value = float[2,2] {1, 0, 0, 1}> ()
              y = MatMul (count, weights)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
