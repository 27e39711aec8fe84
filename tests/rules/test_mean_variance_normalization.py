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


@pytest.mark.parametrize("target", [13, 8])
def test_axes_that_the_input_does_not_have_count_for_nothing(target):
    proto = model("g (float[2,4,3] x) => (float[2,4,3] y) { y = MeanVarianceNormalization (x) }", 10)
    result = convert_version(proto, target)
    assert "over the axes [0, 2] of [0, 2, 3], as onnxruntime does, since the input has rank 3" in result.report.warnings[0]
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    expected = (x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True)
    np.testing.assert_allclose(run(proto, {"x": x})[0], expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(run(result.model, {"x": x})[0], expected, rtol=1e-4, atol=1e-6)
