"""Round and the operators of quantization by one scale, at ties, limits and values that are no numbers."""

import numpy as np
import pytest
from helpers import assert_same, model, refusal

TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, 2.4, -2.6], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 8388607.5, -8388608.0, 3e38, 1e-45], np.float32)


def test_refuses_what_older_operators_cannot_compare():
    text = "g (float[N] x) => (float[N] y) { a = Cast <to=16> (x)  b = Round (a)  y = Cast <to=1> (b) }"
    assert "cannot compute bfloat16 before opset 13" in refusal(model(text, 22), 10)


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_round(target, kind, dtype):
    proto = model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Round (x) }}", 11)
    assert_same(proto, target, {"x": np.concatenate([TIES, SPECIAL]).astype(dtype)})


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("target", [9, 7])
def test_quantize(kind, target):
    text = f"g (float[N] x) => ({kind}[N] y) <float s = {{0.5}}, {kind} z = {{3}}> {{ y = QuantizeLinear (x, s, z) }}"
    assert_same(model(text, 10), target, {"x": np.concatenate([TIES, [1e9, -1e9, 63, -64]]).astype(np.float32)})


def test_quantize_without_zero_point():
    text = "g (float[N] x) => (uint8[N] y) <float s = {0.25}> { y = QuantizeLinear (x, s) }"
    assert_same(model(text, 10), 9, {"x": TIES})


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("target", [9, 7])
def test_dequantize(kind, target):
    text = f"g ({kind}[N] x) => (float[N] y) <float s = {{0.3}}, {kind} z = {{7}}> {{ y = DequantizeLinear (x, s, z) }}"
    info = np.iinfo(kind)
    assert_same(model(text, 10), target, {"x": np.arange(info.min, info.max + 1).astype(kind)})


@pytest.mark.parametrize("target", [10, 9, 7])
@pytest.mark.parametrize(
    "x",
    [
        pytest.param(np.random.default_rng(0).normal(size=50), id="both signs"),
        pytest.param(np.linspace(1, 3, 9), id="positive"),
        pytest.param(np.linspace(-3, -1, 9), id="negative"),
        pytest.param(np.zeros(4), id="zeros only"),
    ],
)
def test_dynamic_quantization(target, x):
    text = "g (float[N] x) => (uint8[N] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }"
    assert_same(model(text, 11), target, {"x": x.astype(np.float32)})
