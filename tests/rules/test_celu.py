"""Celu below opset 12, by max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

import numpy as np
import pytest
from helpers import assert_compares_equal, assert_rewrites, convert_version, known, model, refusal, run

X = np.array([np.nan, np.inf, -np.inf, 3.0, -3.0, 0.5, -0.5, 0.0, 3e38, -3e38], np.float32)


def celu(alpha: float) -> str:
    return f"g (float[N] x) => (float[N] y) {{ y = Celu <alpha = {alpha}> (x) }}"


def test_refused():
    assert "alpha=0: Celu divides by it" in refusal(model(celu(0.0), 12), 11)


@pytest.mark.parametrize("alpha", ["1e-30", "-3e38"])
def test_a_slope_that_float16_cannot_hold_is_refused(alpha):
    if not known(28):
        pytest.skip("onnx has no opset 28")
    proto = model(f"g (float16[N] x) => (float16[N] y) {{ y = Celu <alpha = {alpha}> (x) }}", 28)
    assert "beyond float16" in refusal(proto, 11)


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


@pytest.mark.parametrize("alpha", [1.5, 2.5, 4.0])
def test_the_largest_number_stays_finite(alpha: float) -> None:
    largest = np.array([np.finfo(np.float32).max, -np.finfo(np.float32).max], np.float32)
    (got,) = run(convert_version(model(celu(alpha), 12), 11).model, {"x": largest})
    np.testing.assert_array_equal(got, [largest[0], np.float32(-alpha)])


REWRITES = [
    (
        "celu.write_out_double",
        28,
        27,
        "g (double[N] x) => (double[N] y) { y = Celu <alpha = 2.0> (x) }",
        "<double alpha = {2}> { scaled = Div (x, alpha) curve = Elu (scaled) y = Mul (alpha, curve) }",
    ),
    (
        "celu.scaled_elu",
        12,
        11,
        "g (float[2] x) => (float[2] y) { y = Celu <alpha = 1.0> (x) }",
        "{ y = Elu (x) }",
    ),
    (
        "celu.scaled_elu",
        12,
        11,
        "g (float[2] x) => (float[2] y) { y = Celu <alpha = 2.0> (x) }",
        "<float alpha = {2}> { scaled = Div (x, alpha) elu = Elu (scaled) y = Mul (alpha, elu) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
