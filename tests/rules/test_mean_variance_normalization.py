"""Normalization by mean and variance, with the variance as the mean of squared deviations, as runtimes compute it."""

from __future__ import annotations

import pytest
from helpers import assert_rewrites

REWRITES = [
    (
        "mean_variance_normalization.spell_out_axes",
        9,
        13,
        "g (float[1,2,3,4] x) => (float[1,2,3,4] y) { y = MeanVarianceNormalization (x) }",
        "{ y = MeanVarianceNormalization <axes = [0, 2, 3]> (x) }",
    ),
    (
        "mean_variance_normalization.normalize_axes",
        9,
        8,
        "g (float[1,2,3,4] x) => (float[1,2,3,4] y) { y = MeanVarianceNormalization (x) }",
        """
            {
              mean = ReduceMean <axes = [0, 2, 3], keepdims = 1> (x)
              deviation = Sub (x, mean)
              two = Constant <value = float {2}> ()
              square = Pow (deviation, two)
              variance = ReduceMean <axes = [0, 2, 3], keepdims = 1> (square)
              std = Sqrt (variance)
              epsilon = Constant <value = float {1e-09}> ()
              padded = Add (std, epsilon)
              y = Div (deviation, padded)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
