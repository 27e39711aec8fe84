"""Hyperbolic functions below opset 9: to an ulp of float32 of numpy's in float64, over the whole range."""

import numpy as np
import onnxruntime as ort
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

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


@pytest.mark.parametrize("operator", ["Sinh", "Asinh", "Atanh"])
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_zero_keeps_its_sign(operator, kind):
    """1 / y is another infinity otherwise."""
    proto = model(f"g ({kind}[2] x) => ({kind}[2] y) {{ t = {operator} (x) y = Reciprocal (t) }}", 9)
    x = np.array([0.0, -0.0], np.float32 if kind == "float" else np.float16)
    np.testing.assert_array_equal(run(convert_version(proto, 8).model, {"x": x})[0], [np.inf, -np.inf])


REWRITES = [
    (
        "hyperbolic.mean_of_exponentials",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Cosh (x) }",
        "{ v1 = Cast <to = 11> (x) v2 = Exp (v1) v3 = Neg (v1) v4 = Exp (v3) v5 = Add (v2, v4) v6 = Constant <value = double {0.5}> () v7 = Mul (v5, v6) y = Cast <to = 1> (v7) }",
    ),
    (
        "hyperbolic.difference_of_logs",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Atanh (x) }",
        "{ v1 = Cast <to = 11> (x) v2 = Constant <value = double {1}> () v3 = Add (v2, v1) v4 = Sub (v2, v1) v5 = Log (v4) v6 = Log (v3) v7 = Sub (v5, v6) v8 = Sub (v3, v2) v9 = Sub (v1, v8) v10 = Sub (v2, v4) v11 = Sub (v1, v10) v12 = Add (v9, v11) v13 = Sub (v12, v7) v14 = Constant <value = double {0.5}> () v15 = Mul (v13, v14) y = Cast <to = 1> (v15) }",
    ),
    (
        "hyperbolic.log_of_sum",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Acosh (x) }",
        "{ v1 = Cast <to = 11> (x) v2 = Constant <value = double {1}> () v3 = Sub (v1, v2) v4 = Sqrt (v3) v5 = Add (v1, v2) v6 = Sqrt (v5) v7 = Mul (v4, v6) v8 = Add (v1, v7) v9 = Log (v8) y = Cast <to = 1> (v9) }",
    ),
    (
        "hyperbolic.tanh_times_cosh",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Sinh (x) }",
        "{ v1 = Cast <to = 11> (x) v2 = Tanh (v1) v3 = Exp (v1) v4 = Neg (v1) v5 = Exp (v4) v6 = Add (v3, v5) v7 = Constant <value = double {0.5}> () v8 = Mul (v6, v7) v9 = Mul (v2, v8) y = Cast <to = 1> (v9) }",
    ),
    (
        "hyperbolic.signed_log_of_sum",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Asinh (x) }",
        """
            {
              finite = Clip <max = 3.4028235e+38, min = -3.4028235e+38> (x)
              wide = Cast <to = 11> (finite)
              double = Constant <value = double {1}> ()
              abs = Abs (wide)
              square = Mul (wide, wide)
              square_2 = Add (square, double)
              root = Sqrt (square_2)
              root_2 = Add (root, double)
              rest = Div (square, root_2)
              u = Add (abs, rest)
              rounded = Add (u, double)
              kept = Sub (rounded, double)
              lost = Sub (u, kept)
              lost_2 = Div (lost, rounded)
              log = Log (rounded)
              log_2 = Add (log, lost_2)
              large = Constant <value = float {1e38}> ()
              larger = Mul (finite, large)
              largest = Mul (larger, large)
              sign = Clip <max = 1.0, min = -1.0> (largest)
              asinh = Cast <to = 1> (log_2)
              asinh_2 = Mul (asinh, sign)
              infinite = Sub (finite, x)
              y = Sub (asinh_2, infinite)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [7, 8])
def test_zero_stays_zero_under_the_optimizer_of_onnxruntime(target):
    """It takes numbers that no float holds for 0."""
    result = convert_version(model("g (float[N] x) => (float[N] y) { y = Asinh (x) }", 9), target).model
    x = np.array([0, -0.0, 1e-45, -1e-45, 1e-38, 3e38, -5], np.float32)
    (y,) = ort.InferenceSession(result.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(y, np.arcsinh(x.astype(np.float64)), rtol=3e-7)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))
