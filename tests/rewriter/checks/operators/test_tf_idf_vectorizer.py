"""A TfIdfVectorizer with impossible lengths of n-grams."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

GRAMS = (
    "g (int64[6] x) => (float[N] y) {{ y = TfIdfVectorizer <min_gram_length = {}, max_gram_length = {}, max_skip_count = {},"
    ' mode = "TF", ngram_counts = [0, 2], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3, 4]> (x) }}'
)
INVALID = [
    (9, GRAMS.format(0, 2, 1), "min_gram_length is 0, and has to be positive"),
    (9, GRAMS.format(2, 1, 1), "max_gram_length is 1, below min_gram_length, which is 2"),
    (9, GRAMS.format(1, 2, -1), "max_skip_count is -1"),
]
VALID = [
    (9, GRAMS.format(1, 2, 0)),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset: int, text: str, message: str) -> None:
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(("opset", "text"), [row for row in VALID if row[0] <= newest_opset()])
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
