"""Erf, and Gelu with it, below opset 9: to an ulp of float32 of Python's own, over the whole range."""

import math

import numpy as np
import pytest
from helpers import convert_version, known, model, refusal, run

SPREAD = 10.0 ** np.linspace(-44, 38, 4001)
ORDINARY = np.linspace(0, 6, 20001)
SPECIAL = np.array([0.0, 1, np.inf, np.nan, 3.9, 4, 4.1, 1e-45, 3.4028235e38])
POINTS = np.concatenate([SPREAD, ORDINARY, SPECIAL])
POINTS = np.concatenate([POINTS, -POINTS]).astype(np.float32)


def erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(value) for value in x.astype(np.float64)])


def test_refuses_double():
    proto = model("g (double[2] x) => (double[2] y) { y = Erf (x) }", 13)
    assert "Erf of this type is not accurate in older operators" in refusal(proto, 8)


@pytest.mark.parametrize("target", [8, 7])
def test_to_an_ulp(target):
    result = convert_version(model("g (float[N] x) => (float[N] y) { y = Erf (x) }", 13), target)
    assert result.report.inexact
    got, expected = run(result.model, {"x": POINTS})[0], erf(POINTS).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    numbers = ~np.isnan(expected)
    np.testing.assert_array_max_ulp(got[numbers], expected[numbers], maxulp=1)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])


def test_half():
    x = np.array([0.25, 1, 1.5, -3, 60000, np.inf, -np.inf, 0], np.float16)
    proto = model("g (float16[8] x) => (float16[8] y) { y = Erf (x) }", 13)
    np.testing.assert_allclose(run(convert_version(proto, 7).model, {"x": x})[0], erf(x), rtol=1e-3)


@pytest.mark.skipif(not known(20), reason="onnx has no opset 20")
def test_gelu():
    x = np.linspace(-8, 8, 2001, dtype=np.float32)
    proto = model("g (float[N] x) => (float[N] y) { y = Gelu (x) }", 20)
    expected = x / 2.0 * (1 + erf(x.astype(np.float64) / math.sqrt(2)))
    np.testing.assert_allclose(run(convert_version(proto, 7).model, {"x": x})[0], expected, rtol=1e-6, atol=1e-6)
