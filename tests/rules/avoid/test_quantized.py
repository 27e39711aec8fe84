"""The rules that avoid forms of quantized operators, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

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
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(form, tmp_path))
