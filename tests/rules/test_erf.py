"""Erf, and Gelu with it, below opset 9: to an ulp of float32 of Python's own, over the whole range."""

import math

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, known, model, refusal, run

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


REWRITES = [
    (
        "erf.quotient_of_polynomials",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Erf (x) }",
        """
            {
              finite = Clip <max = 4.0, min = -4.0> (x)
              wide = Cast <to = 11> (finite)
              square = Mul (wide, wide)
              coefficient = Constant <value = double {1.12837916691}> ()
              coefficient_2 = Constant <value = double {0.324583195414}> ()
              coefficient_3 = Constant <value = double {0.0775449792224}> ()
              coefficient_4 = Constant <value = double {0.0107917161094}> ()
              coefficient_5 = Constant <value = double {0.000893276280355}> ()
              coefficient_6 = Constant <value = double {6.09791374653e-05}> ()
              coefficient_7 = Constant <value = double {1.06686891726e-06}> ()
              power = Mul (coefficient_7, square)
              sum = Add (power, coefficient_6)
              power_2 = Mul (sum, square)
              sum_2 = Add (power_2, coefficient_5)
              power_3 = Mul (sum_2, square)
              sum_3 = Add (power_3, coefficient_4)
              power_4 = Mul (sum_3, square)
              sum_4 = Add (power_4, coefficient_3)
              power_5 = Mul (sum_4, square)
              sum_5 = Add (power_5, coefficient_2)
              power_6 = Mul (sum_5, square)
              sum_6 = Add (power_6, coefficient)
              coefficient_8 = Constant <value = double {1}> ()
              coefficient_9 = Constant <value = double {0.620987692473}> ()
              coefficient_10 = Constant <value = double {0.175718414164}> ()
              coefficient_11 = Constant <value = double {0.0298472467252}> ()
              coefficient_12 = Constant <value = double {0.00332505703954}> ()
              coefficient_13 = Constant <value = double {0.000243678233204}> ()
              coefficient_14 = Constant <value = double {1.06875477961e-05}> ()
              coefficient_15 = Constant <value = double {4.51705809131e-08}> ()
              power_7 = Mul (coefficient_15, square)
              sum_7 = Add (power_7, coefficient_14)
              power_8 = Mul (sum_7, square)
              sum_8 = Add (power_8, coefficient_13)
              power_9 = Mul (sum_8, square)
              sum_9 = Add (power_9, coefficient_12)
              power_10 = Mul (sum_9, square)
              sum_10 = Add (power_10, coefficient_11)
              power_11 = Mul (sum_10, square)
              sum_11 = Add (power_11, coefficient_10)
              power_12 = Mul (sum_11, square)
              sum_12 = Add (power_12, coefficient_9)
              power_13 = Mul (sum_12, square)
              sum_13 = Add (power_13, coefficient_8)
              upper = Mul (wide, sum_6)
              erf = Div (upper, sum_13)
              y = Cast <to = 1> (erf)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
