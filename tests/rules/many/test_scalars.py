"""Operands that have to be scalars, where a list or a branch hid that they are vectors of one number."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import convert_version

HEAD = "g (float[4] x) => (float[M] y) <int64 i = {0}, int64 one = {1}, int64[3] p = {4,7,8}, int64[2] s = {1,2}> "
LIST = (
    HEAD
    + "{ l = SplitToSequence <axis = 0> (p, s) n = SequenceAt (l, i) r = Range (i, n, one) k = Cast <to = 1> (r) y = Mul (k, x) }"
)
REWRITES = [
    (
        "scalars.known_scalars",
        LIST,
        "<int64 i = {0}, int64 n = {4}, int64 one = {1}> { r = Range (i, n, one) k = Cast <to = 1> (r) y = Mul (k, x) }",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str) -> None:
    result = assert_rewrites(before, after, rule, 16, 16)
    np.testing.assert_array_equal(run(result, {"x": np.float32([1, 2, 3, 4])})[0], np.float32([0, 2, 6, 12]))


def test_a_window_whose_length_was_in_a_list() -> None:
    text = HEAD + "{ l = SplitToSequence <axis = 0> (p, s) n = SequenceAt (l, i) k = HannWindow (n) y = Mul (k, x) }"
    given = model(text, 17)
    result = convert_version(given, 17).model
    x = {"x": np.float32([1, 2, 3, 4])}
    np.testing.assert_array_equal(run(result, x)[0], run(given, x)[0])
