"""QuantizeLinear and DequantizeLinear of onnxruntime as ONNX's own, beside its kernels, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, operators
from drawing import normal, whole


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
def test_it_computes_the_same(operator, axis, kind):
    name = np.dtype(kind).name
    x = normal(2, 3, 4) if operator == "QuantizeLinear" else whole(kind, 2, 3, 4)
    scales = np.array([0.01, 0.02, 0.3], np.float32) if axis else np.array([0.02], np.float32)
    stored = {"s": scales, "z": whole(kind, 3) if axis else np.array([5], kind)}
    stated = "<axis = 1>" if axis else ""
    result_kind = name if operator == "QuantizeLinear" else "float"
    node = f"y = com.microsoft.{operator} {stated} (x, s, z)"
    targets = (21, 18, 13) if np.dtype(kind).itemsize == 1 else (21, 18)
    result = assert_standard(node, {"x": x}, f"{result_kind}[2,3,4] y", constants=stored, targets=targets)
    assert np.dtype(kind).itemsize > 1 or operators(result) == [operator]


def test_without_a_zero_point_it_is_0_of_8_bits():
    stored = {"s": np.asarray(np.float32(0.02))}
    assert_standard("y = com.microsoft.QuantizeLinear (x, s)", {"x": normal(2, 3)}, "uint8[2,3] y", constants=stored)
