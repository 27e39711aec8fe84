"""Models that onnxruntime's own quantizer made, at older opsets: the same numbers, the same fused kernels, few more nodes."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version

ort = pytest.importorskip("onnxruntime")
sys.path.append(str(Path(__file__).resolve().parents[2] / "models"))
try:
    import make_quantized
except ImportError:
    pytest.skip("onnxruntime without its quantizer", allow_module_level=True)

PAIR = ("QuantizeLinear", "DequantizeLinear")
TARGETS = (20, 18, 17, 13, 11)
LAST_BITS = 2e-6
"""What LayerNormalization and Gelu, written out below their opsets, may add; elsewhere nothing differs."""
FUSED = {
    "convnet_uint8": {"QLinearConv": 3, "QLinearAdd": 1, "QLinearGlobalAveragePool": 1, "QGemm": 1},
    "block_uint8": {"QLinearMatMul": 6, "QLinearAdd": 4, "QLinearMul": 1, "QLinearSoftmax": 1},
    "block_dynamic": {"DynamicQuantizeMatMul": 4},
}
"""The quantized kernels that onnxruntime makes of the model as it was quantized."""
BY_HAND = {
    "convnet_uint8": 31,
    "convnet_int8_per_channel": 31,
    "convnet_int16": 31 + 8 * 4,  # Div, Round, Clip, Cast, Cast, Mul for each of 8 pairs
    "block_uint8": 89,
    "block_dynamic": 40,
    "block_float8": 48,
    "block_int4_by_32": 28 + 4 * 3,  # Reshape, Cast, Mul, Reshape for each of 4 DequantizeLinear
    "block_uint4_by_32": 28 + 4 * 4,  # and Sub
    "block_int4_by_128": 28 + 4 * 2,  # Cast, Gather, Mul: 192 is no multiple of 128
    "block_uint4_by_128": 28 + 4 * 4,  # and Gather, Sub
}
"""How many nodes each model has at opset 20, written by hand."""


@cache
def quantized(name: str) -> onnx.ModelProto:
    return make_quantized.MODELS[name]()


def session(model: onnx.ModelProto, optimized: Path | None = None) -> ort.InferenceSession:
    """A session without onnxruntime's optimizations, or with those that fuse, which writes the optimized model."""
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if optimized else levels.ORT_DISABLE_ALL
    if optimized:
        options.optimized_model_filepath = str(optimized)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", make_quantized.MODELS)
def test_equal(name: str, target: int) -> None:
    original = quantized(name)
    inputs = next(make_quantized.samples(original))
    result = convert_version(original, target).model
    expected, got = (session(model).run(None, inputs)[0] for model in (original, result))
    is_exact = target == 20 or name.startswith("convnet") or name in ("block_uint8", "block_float8")
    np.testing.assert_allclose(got, expected, rtol=0, atol=0 if is_exact else LAST_BITS)


@pytest.mark.parametrize("name", ["block_dynamic", "block_uint8", "convnet_int16"])
def test_the_comparison_finds_them_equal(name: str, tmp_path: Path) -> None:
    """Also where a quantization rounds the last bits that Gelu and LayerNormalization, written out, change."""
    onnx.save(quantized(name), tmp_path / "m.onnx")
    ended = command_line("-t", "17", f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx")
    assert ended.status == 0, ended.err


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FUSED)
def test_what_was_fused_is_fused(name: str, target: int, tmp_path: Path) -> None:
    for model in (quantized(name), convert_version(quantized(name), target).model):
        session(model, tmp_path / "optimized.onnx")
        kernels = Counter(node.op_type for node in onnx.load(tmp_path / "optimized.onnx").graph.node)
        assert {kernel: kernels[kernel] for kernel in FUSED[name]} == FUSED[name]


@pytest.mark.parametrize("name", make_quantized.MODELS)
def test_no_more_nodes_than_by_hand(name: str) -> None:
    assert len(convert_version(quantized(name), 20).model.graph.node) <= BY_HAND[name]


@pytest.mark.parametrize("target", (20, 18, 17, 13))
@pytest.mark.parametrize("name", ["convnet_uint8", "convnet_int8_per_channel", "block_uint8"])
def test_pairs_stay_pairs(name: str, target: int) -> None:
    """What runtimes recognize is left as it is: no scale, zero point or weight is moved, and no node comes between."""
    before, after = (
        [(node.op_type, *node.input, *node.output) for node in model.graph.node if node.op_type in PAIR]
        for model in (quantized(name), convert_version(quantized(name), target).model)
    )
    assert before == after
