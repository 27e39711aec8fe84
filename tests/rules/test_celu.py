"""Celu below opset 12, by max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

import numpy as np
import pytest
from helpers import assert_becomes, assert_compares_equal, convert_version, known, model, refusal, run

X = np.array([np.nan, np.inf, -np.inf, 3.0, -3.0, 0.5, -0.5, 0.0, 3e38, -3e38], np.float32)


def celu(alpha: float) -> str:
    return f"g (float[N] x) => (float[N] y) {{ y = Celu <alpha = {alpha}> (x) }}"


def test_refused():
    assert "alpha=0: Celu divides by it" in refusal(model(celu(0.0), 12), 11)


@pytest.mark.parametrize("alpha", [1.0, 2.5, 0.25, -0.5, -1.5])
@pytest.mark.parametrize("target", [11, 7])
def test_any_slope(alpha, target):
    with np.errstate(all="ignore"):
        wide = X.astype(np.float64)
        expected = np.maximum(wide, 0) + np.minimum(0, alpha * np.expm1(wide / alpha))
        expected = expected.astype(np.float32)
    (got,) = run(convert_version(model(celu(alpha), 12), target).model, {"x": X})
    np.testing.assert_allclose(got, expected, rtol=1e-6, equal_nan=True)


def test_a_scalar() -> None:
    text = "g (float x) => (float y) {y = Celu<alpha = 0.5>(x)}"
    assert_compares_equal(model(text, 13), 10)


def test_celu_of_double_is_computed_in_double() -> None:
    if not known(28):
        pytest.skip("onnx has no opset 28")
    proto = model("g (double[2] x) => (double[2] y) {y = Celu(x)}", 28)
    values = run(convert_version(proto, 9).model, {"x": np.array([1e-300, 1 + 3e-16])}, "onnx.reference")
    assert values[0].tolist() == [1e-300, 1 + 3e-16]


def test_without_a_slope_it_is_an_elu():
    assert_becomes(celu(1.0), "g (float[N] x) => (float[N] y) { y = Elu (x) }", (12, 11))


def test_with_one_it_is_scaled():
    after = "g (float[N] x) => (float[N] y) <float alpha = {2}> { s = Div (x, alpha)  e = Elu (s)  y = Mul (alpha, e) }"
    assert_becomes(celu(2.0), after, (12, 11))
