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
