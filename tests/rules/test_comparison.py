"""Tests and comparisons of numbers below the opsets that brought them, at every value that comparisons treat specially."""

import numpy as np
import pytest
from helpers import assert_same, model, refusal

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 3e38, -3e38, 1e-45]
FLOATS = np.array(SPECIAL, np.float32)
PAIRS = {"a": np.repeat(FLOATS, len(FLOATS)), "b": np.tile(FLOATS, len(FLOATS))}
LIMITS = np.array([0, 1, -1, 2**32, -(2**32), 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)], np.int64)
LONG_PAIRS = {"a": np.repeat(LIMITS, len(LIMITS)), "b": np.tile(LIMITS, len(LIMITS))}


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (bfloat16[N] x) => (bool[N] y) { y = IsNaN (x) }",
            20,
            8,
            "IsNaN cannot compute bfloat16 before opset 13",
            id="no type",
        ),
        pytest.param(
            "g (string[N] a, string[N] b) => (bool[N] y) { y = Equal (a, b) }", 19, 10, "cannot sort string", id="strings"
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64), ("float16", np.float16)])
def test_is_nan(kind, dtype):
    with np.errstate(over="ignore"):
        x = FLOATS.astype(dtype)
    assert_same(model(f"g ({kind}[N] x) => (bool[N] y) {{ y = IsNaN (x) }}", 13), 8, {"x": x})


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_is_inf(positive, negative, kind, dtype):
    text = f"g ({kind}[N] x) => (bool[N] y) {{ y = IsInf <detect_positive={positive}, detect_negative={negative}> (x) }}"
    assert_same(model(text, 10), 9, {"x": FLOATS.astype(dtype)})


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_floats_compare(operator, target):
    assert_same(model(f"g (float[N] a, float[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, PAIRS)


@pytest.mark.parametrize("operator", ["Equal", "GreaterOrEqual", "LessOrEqual", "Less", "Greater"])
@pytest.mark.parametrize("target", [9, 7])
def test_long_integers_compare(operator, target):
    assert_same(model(f"g (int64[N] a, int64[N] b) => (bool[N] y) {{ y = {operator} (a, b) }}", 16), target, LONG_PAIRS)


def test_a_value_equals_itself_unless_nan():
    assert_same(model("g (float[N] a) => (bool[N] y) { y = Equal (a, a) }", 13), 9, {"a": FLOATS})


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("int8", np.int8), ("uint8", np.uint8)])
def test_sign(kind, dtype):
    x = np.array([0, 1, 2, 100], dtype) if kind == "uint8" else np.array([0, 1, -1, 100, -100], dtype)
    assert_same(model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Sign (x) }}", 13), 8, {"x": x})
