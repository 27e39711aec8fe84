"""The rules that avoid forms of quantized operators, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run
from onnx import TensorProto, helper, numpy_helper

STORED = "float s = {0.05}, uint8 p = {3}, float[2] r = {0.02, 0.1}, int8[2] z = {0, 0}"
REWRITES = [
    (
        "quantized.convolve_real",
        "Quantized product with a scale for each channel",
        13,
        f"""g (uint8[1,2,2,2] x) => (uint8[1,2,2,2] y) <{STORED}, int8[2,2,1,1] w = {{8, 28, 3, -4}}> {{
            y = QLinearConv(x, s, p, w, r, z, s, p) }}""",
        f"""<{STORED}, int8[2,2,1,1] w = {{8, 28, 3, -4}}> {{
            real = DequantizeLinear (x, s, p) weights = DequantizeLinear <axis = 0> (w, r, z)
            product = Conv (real, weights) y = QuantizeLinear (product, s, p) }}""",
    ),
    (
        "quantized.multiply_real",
        "Quantized product with a scale for each channel",
        13,
        f"""g (uint8[2,2] x) => (uint8[2,2] y) <{STORED}, int8[2,2] w = {{8, 28, 3, -4}}> {{
            y = QLinearMatMul(x, s, p, w, r, z, s, p) }}""",
        f"""<{STORED}, int8[2,2] w = {{8, 28, 3, -4}}> {{
            real = DequantizeLinear (x, s, p) weights = DequantizeLinear <axis = 1> (w, r, z)
            product = MatMul (real, weights) y = QuantizeLinear (product, s, p) }}""",
    ),
    (
        "quantized.state_zero",
        "Quantization without a zero point",
        13,
        "g (float[2,3] x) => (uint8[2,3] y) <float[3] s = {0.5, 1, 2}> { y = QuantizeLinear(x, s) }",
        "<float[3] s = {0.5, 1, 2}, uint8[3] z = {0, 0, 0}> { y = QuantizeLinear (x, s, z) }",
    ),
    (
        "quantized.state_zero",
        "Quantization without a zero point",
        13,
        "g (int8[2] x) => (float[2] y) <float s = {0.5}> { y = DequantizeLinear(x, s) }",
        "<float s = {0.5}, int8 z = {0}> { y = DequantizeLinear (x, s, z) }",
    ),
    (
        "quantized.store_steps",
        "Quantization of a constant",
        13,
        """g (float[4] x) => (float[4] y) <float[4] c = {0.5, -0.25, 9, -9}, float s = {0.25}, int8 z = {3}> {
            q = QuantizeLinear(c, s, z) d = DequantizeLinear(q, s, z) y = Mul(x, d) }""",
        """<float s = {0.25}, int8 z = {3}, int8[4] q = {5, 2, 39, -33}> {
            d = DequantizeLinear (q, s, z) y = Mul (x, d) }""",
    ),
]

STAYS = {
    "it is computed": "g (float[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear(x, s, z) }",
    "it is an output": "g () => (uint8[2] y) <float[2] c = {1, 2}, float s = {0.5}, uint8 z = {3}> { y = QuantizeLinear(c, s, z) }",
    "several scales": """g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float[2] s = {0.5, 1}, uint8[2] z = {3, 4}> {
        q = QuantizeLinear<axis = 0>(c, s, z) d = DequantizeLinear<axis = 0>(q, s, z) y = Mul(x, d) }""",
    "a scale that is no number": """g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float s = {nan}, uint8 z = {3}> {
        q = QuantizeLinear(c, s, z) d = DequantizeLinear(q, s, z) y = Mul(x, d) }""",
    "a scale of 0": """g (float[2] x) => (float[2] y) <float[2] c = {1, 2}, float s = {0}, uint8 z = {3}> {
        q = QuantizeLinear(c, s, z) d = DequantizeLinear(q, s, z) y = Mul(x, d) }""",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_stays(text: str, tmp_path: Path) -> None:
    before = model(text, 13)
    assert converted(before, "Quantization of a constant", tmp_path).graph.node == before.graph.node


def test_a_stored_step_is_what_onnxruntime_computes(tmp_path: Path) -> None:
    values = np.random.default_rng(3).standard_normal(64).astype(np.float32) * 40
    before = model("g () => (int8[64] y) <float[1] c = {0}, float s = {0.3}, int8 z = {-7}> { y = QuantizeLinear(c, s, z) }", 13)
    before.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "c"))
    wanted = run(before, {})[0]
    before.graph.node.append(helper.make_node("Cast", ["y"], ["w"], to=TensorProto.INT32))
    before.graph.output[0].CopyFrom(helper.make_tensor_value_info("w", TensorProto.INT32, [64]))
    after = converted(before, "Quantization of a constant", tmp_path)
    assert "QuantizeLinear" not in [node.op_type for node in after.graph.node]
    np.testing.assert_array_equal(run(after, {})[0], wanted)


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(form, tmp_path))
