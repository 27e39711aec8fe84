"""Equal of numbers below opset 11 and of strings below opset 19."""

from __future__ import annotations

import pytest
from helpers import assert_rewrites, assert_same, model, refusal
from special_values import SPECIAL_FLOATS


def test_refuses_strings_below_11():
    text = "g (string[N] a, string[N] b) => (bool[N] y) { y = Equal (a, b) }"
    assert "cannot sort string" in refusal(model(text, 19), 10)


def test_a_value_equals_itself_unless_nan():
    assert_same(model("g (float[N] a) => (bool[N] y) { y = Equal (a, a) }", 13), 9, {"a": SPECIAL_FLOATS})


REWRITES = [
    (
        "equal.equal_numbers",
        11,
        10,
        "g (float[2] a, float[2] b) => (bool[2] y) { y = Equal (a, b) }",
        "<float v4 = {1}, float v6 = {0}> { v1 = Less (a, b) v2 = Greater (a, b) v3 = Or (v1, v2) v5 = Less (a, v4) v7 = Greater (a, v6) v8 = Or (v5, v7) v9 = Less (b, v4) v10 = Greater (b, v6) v11 = Or (v9, v10) v12 = And (v8, v11) v13 = Not (v3) y = And (v13, v12) }",
    ),
    (
        "equal.equal_strings",
        19,
        18,
        "g (string[2] a, string[2] b) => (bool[2] y) { y = Equal (a, b) }",
        """
            <int64[1] start = {0}, int64[1] size = {2}, int64[1] end = {9223372036854775807}>
            {
              both = Concat <axis = 0> (a, b)
              unique, ABSENT, numbers = Unique (both)
              part = Slice (numbers, start, size)
              part_2 = Slice (numbers, size, end)
              y = Equal (part, part_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
