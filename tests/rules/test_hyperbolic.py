"""Hyperbolic functions below opset 9: to an ulp of float32 of numpy's in float64, over the whole range."""

import numpy as np
import pytest
from helpers import convert_version, model, refusal, run

FUNCTIONS = {"Sinh": np.sinh, "Cosh": np.cosh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh}
EXPONENTS = np.linspace(-44, 38, 4001)
SPREAD = np.concatenate([10.0**EXPONENTS, -(10.0**EXPONENTS)])
NEAR_ONE = np.concatenate([1 + 2.0 ** -np.arange(1, 24), 1 - 2.0 ** -np.arange(1, 25)])
ORDINARY = np.linspace(-90, 90, 3001)
SPECIAL = np.array([0.0, 1, -1, np.inf, -np.inf, np.nan, 88.7, 89.4, -89.4, 1e-45, 3.4028235e38, -3.4028235e38])


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_refuses_double(operator):
    text = f"g (double[2] x) => (double[2] y) {{ y = {operator} (x) }}"
    assert f"{operator} of this type is not accurate in older operators" in refusal(model(text, 22), 8)


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize("operator", FUNCTIONS)
def test_to_an_ulp(operator, target):
    x = np.concatenate([SPREAD, NEAR_ONE, -NEAR_ONE, ORDINARY, SPECIAL]).astype(np.float32)
    proto = model(f"g (float[N] x) => (float[N] y) {{ y = {operator} (x) }}", 9)
    result = convert_version(proto, target)
    assert result.report.inexact
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[operator](x.astype(np.float64)).astype(np.float32)
    got = run(result.model, {"x": x})[0]
    both = np.isfinite(expected)
    np.testing.assert_array_equal(np.where(both, 0, got), np.where(both, 0, expected))
    np.testing.assert_array_max_ulp(got[both], expected[both], maxulp=1)


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_half(operator):
    x = np.array([0.25, 1, 1.5, -3, 60000, np.inf, -np.inf, 0], np.float16)
    proto = model(f"g (float16[8] x) => (float16[8] y) {{ y = {operator} (x) }}", 9)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[operator](x.astype(np.float64)).astype(np.float16)
    np.testing.assert_allclose(run(convert_version(proto, 7).model, {"x": x})[0], expected, rtol=1e-3)
