"""Normalization by mean and variance, with the variance as the mean of squared deviations, as runtimes compute it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

HALF = "g (float16[1,2,3,4] x) => (float16[1,2,3,4] y) { y = MeanVarianceNormalization <axes = [0, 2, 3]> (x) }"
IMAGE = "g (float[1,2,3,4] x) => (float[1,2,3,4] y) { y = MeanVarianceNormalization %s (x) }"


def test_refuses_what_the_experimental_operator_did_not_have():
    assert "only across_channels and normalize_variance" in refusal(model(IMAGE % "<axes = [0]>", 8), 9)


REWRITES = [
    (
        "mean_variance_normalization.take_from_older_opsets",
        8,
        13,
        IMAGE % "<across_channels = 1>",
        "{ y = MeanVarianceNormalization <axes = [0, 1, 2, 3]> (x) }",
    ),
    (
        "mean_variance_normalization.take_from_older_opsets",
        7,
        13,
        IMAGE % "<normalize_variance = 0>",
        "{ mean = ReduceMean <axes = [0, 2, 3], keepdims = 1> (x) y = Sub (x, mean) }",
    ),
    (
        "mean_variance_normalization.normalize_axes_of_other_types",
        17,
        17,
        HALF,
        """<float two = {2}, float epsilon = {1e-09}> {
              wide = Cast <to = 1> (x)
              mean = ReduceMean <axes = [0, 2, 3], keepdims = 1> (wide)
              deviation = Sub (wide, mean)
              square = Pow (deviation, two)
              variance = ReduceMean <axes = [0, 2, 3], keepdims = 1> (square)
              std = Sqrt (variance)
              padded = Add (std, epsilon)
              ratio = Div (deviation, padded)
              y = Cast <to = 10> (ratio)
            }""",
    ),
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


def test_half_precision_is_as_numpy_computes_it():
    x = np.random.default_rng(1).normal(3, 2, (1, 2, 3, 4)).astype(np.float16)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean((0, 2, 3), keepdims=True)) / wide.std((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(run(convert_version(model(HALF, 17), 13).model, {"x": x})[0], expected, rtol=1e-3, atol=1e-3)
