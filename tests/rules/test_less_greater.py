"""Less, Greater, LessOrEqual and GreaterOrEqual at every value that comparisons treat specially."""

from __future__ import annotations

import pytest
from helpers import assert_rewrites, assert_same, model
from special_values import FLOAT_PAIRS, LONG_PAIRS


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_floats_compare(operator, target):
    assert_same(model(f"g (float[N] a, float[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, FLOAT_PAIRS)


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [9, 7])
def test_long_integers_compare(operator, target):
    assert_same(model(f"g (int64[N] a, int64[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, LONG_PAIRS)


REWRITES = [
    (
        "less_greater.not_less",
        12,
        11,
        "g (float[2] a, float[2] b) => (bool[2] y) { y = LessOrEqual (a, b) }",
        "{ less = Less (a, b)  equal = Equal (a, b)  y = Or (less, equal) }",
    ),
    (
        "less_greater.not_less",
        12,
        11,
        "g (int32[2] a, int32[2] b) => (bool[2] y) { y = LessOrEqual (a, b) }",
        "{ greater = Greater (a, b)  y = Not (greater) }",
    ),
    (
        "less_greater.not_less",
        12,
        10,
        "g (float[2] a, float[2] b) => (bool[2] y) { y = GreaterOrEqual (a, b) }",
        """
            <float one = {1}, float zero = {0}>
            {
              less = Less (a, b)
              below = Less (a, one)
              above = Greater (a, zero)
              number = Or (below, above)
              below_2 = Less (b, one)
              above_2 = Greater (b, zero)
              number_2 = Or (below_2, above_2)
              numbers = And (number, number_2)
              not_less = Not (less)
              y = And (not_less, numbers)
            }
        """,
    ),
    (
        "less_greater.compare_halves",
        9,
        8,
        "g (int64[2] a, int64[2] b) => (bool[2] y) { y = Less (a, b) }",
        """
            {
              base_double = Constant <value = double {4294967296}> ()
              base = Cast <to = 7> (base_double)
              high = Div (a, base)
              rounded = Mul (high, base)
              low = Sub (a, rounded)
              double = Cast <to = 11> (high)
              double_2 = Cast <to = 11> (low)
              high_2 = Div (b, base)
              rounded_2 = Mul (high_2, base)
              low_2 = Sub (b, rounded_2)
              double_3 = Cast <to = 11> (high_2)
              double_4 = Cast <to = 11> (low_2)
              high_3 = Less (double, double_3)
              greater = Greater (double, double_3)
              differ = Or (high_3, greater)
              tie = Not (differ)
              low_3 = Less (double_2, double_4)
              decided_low = And (tie, low_3)
              y = Or (high_3, decided_low)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
