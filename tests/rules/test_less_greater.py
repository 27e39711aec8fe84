"""Less, Greater, LessOrEqual and GreaterOrEqual at every value that comparisons treat specially."""

from __future__ import annotations

import pytest
from helpers import assert_same, model
from special_values import FLOAT_PAIRS, LONG_PAIRS


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_floats_compare(operator, target):
    assert_same(model(f"g (float[N] a, float[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, FLOAT_PAIRS)


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [9, 7])
def test_long_integers_compare(operator, target):
    assert_same(model(f"g (int64[N] a, int64[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, LONG_PAIRS)
