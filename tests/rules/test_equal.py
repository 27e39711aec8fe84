"""Equal of numbers below opset 11 and of strings below opset 19."""

from __future__ import annotations

from helpers import assert_same, model, refusal
from special_values import SPECIAL_FLOATS


def test_refuses_strings_below_11():
    text = "g (string[N] a, string[N] b) => (bool[N] y) { y = Equal (a, b) }"
    assert "cannot sort string" in refusal(model(text, 19), 10)


def test_a_value_equals_itself_unless_nan():
    assert_same(model("g (float[N] a) => (bool[N] y) { y = Equal (a, a) }", 13), 9, {"a": SPECIAL_FLOATS})
