"""GroupNorm and SkipGroupNorm of onnxruntime as ONNX's own operators. There is no kernel for CPUs: numpy computes what is expected."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, contrib_model, refused
from drawing import normal
from helpers import convert_version, run

X, SCALE, SHIFT, BIAS = normal(2, 4, 5, 8), normal(8), normal(8), normal(8)


def expected(x: np.ndarray, groups: int, activation: int, epsilon: float = 1e-5) -> np.ndarray:
    """By the documented formula, with the channels in the last axis."""
    batch, height, width, channels = x.shape
    parts = x.astype(np.float64).reshape(batch, height * width, groups, channels // groups)
    deviation = parts - parts.mean((1, 3), keepdims=True)
    normalized = deviation / np.sqrt((deviation**2).mean((1, 3), keepdims=True) + epsilon)
    y = normalized.reshape(x.shape) * SCALE + SHIFT
    return y / (1 + np.exp(-y)) if activation else y


def results(node: str, inputs: dict[str, np.ndarray], declared: str, target: int) -> list[np.ndarray]:
    result = convert_version(contrib_model(node, inputs, declared), target, options=STANDARD).model
    assert {made.domain for made in result.graph.node} == {""}
    return run(result, inputs)


def test_channels_in_front_beside_an_input_of_unknown_shape():
    node = "y = com.microsoft.SkipGroupNorm <activation = 0, groups = 2, channels_last = 0> (x, g, b, s)"
    message = refused(node, {"x": X, "g": normal(4), "b": normal(4), "s": X}, "float[2,4,5,8] y")
    assert "SkipGroupNorm with the channels in the second axis has an input skip" in message


def test_an_activation_that_is_not_documented():
    node = "y = com.microsoft.GroupNorm <activation = 2, groups = 2> (x, g, b)"
    assert "GroupNorm has no activation 2" in refused(node, {"x": X, "g": SCALE, "b": SHIFT}, "float[2,4,5,8] y")


@pytest.mark.parametrize("target", [18, 13, 9])
@pytest.mark.parametrize("activation", [0, 1])
def test_channels_last(target, activation):
    node = f"y = com.microsoft.GroupNorm <activation = {activation}, groups = 2> (x, g, b)"
    (y,) = results(node, {"x": X, "g": SCALE, "b": SHIFT}, "float[2,4,5,8] y", target)
    np.testing.assert_allclose(y, expected(X, 2, activation), rtol=1e-5, atol=1e-5)


def test_channels_first():
    node = "y = com.microsoft.GroupNorm <activation = 1, groups = 4, channels_last = 0, epsilon = 0.01> (x, g, b)"
    x = X.transpose(0, 3, 1, 2).copy()
    (y,) = results(node, {"x": x, "g": SCALE, "b": SHIFT}, "float[2,8,4,5] y", 13)
    np.testing.assert_allclose(y.transpose(0, 2, 3, 1), expected(X, 4, 1, 0.01), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_float16(kind):
    """Scale and shift may be float where the data is float16."""
    node = "y = com.microsoft.GroupNorm <activation = 1, groups = 2> (x, g, b)"
    x = X.astype(np.float16)
    (y,) = results(node, {"x": x, "g": SCALE.astype(kind), "b": SHIFT.astype(kind)}, "float16[2,4,5,8] y", 13)
    np.testing.assert_allclose(y.astype(np.float64), expected(x, 2, 1), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("shape", [(2, 4, 5, 8), (2, 1, 1, 8), (2, 8)])
@pytest.mark.parametrize("bias", [{}, {"c": BIAS}])
def test_of_a_sum(shape, bias):
    inputs = {"x": X, "g": SCALE, "b": SHIFT, "s": normal(*shape)} | bias
    node = f"y, z = com.microsoft.SkipGroupNorm <activation = 0, groups = 2> ({', '.join(inputs)})"
    y, z = results(node, inputs, "float[2,4,5,8] y, float[2,4,5,8] z", 13)
    total = X + inputs["s"].reshape(2, *((1, 1) if len(shape) == 2 else shape[1:3]), 8) + (BIAS if bias else 0)
    np.testing.assert_allclose(z, total, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(y, expected(total, 2, 0), rtol=1e-5, atol=1e-5)
