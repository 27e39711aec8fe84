"""Products of integers as ONNX's own operators, beside onnxruntime's kernels, to the last bit where the kernel sums integers."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, operators, refused
from drawing import normal, whole

KINDS = {"uint8": np.uint8, "int8": np.int8}


def arrays(**values: object) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in values.items()}


@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("bias", ["c", '""'])
def test_a_quantized_result(bias, columns, flags, kinds):
    a, b = whole(KINDS[kinds[0]], 6, 40), whole(KINDS[kinds[1]], 40, 5)
    scales = np.linspace(0.01, 0.03, 5).astype(np.float32) if columns else np.float32(0.02)
    zeros = np.zeros(5, KINDS[kinds[1]]) if columns else KINDS[kinds[1]](3)
    stored = arrays(s=np.float32(0.013), z=KINDS[kinds[0]](7), t=scales, u=zeros, v=np.float32(1.7), w=KINDS[kinds[0]](9))
    stored |= {"c": np.arange(-200, 300, 100).astype(np.int32)} if bias == "c" else {}
    stored |= {"b": b.T.copy() if flags[1] else b}
    node = f"y = com.microsoft.QGemm <alpha = 0.5, transA = {flags[0]}, transB = {flags[1]}> (a, s, z, b, t, u, {bias}, v, w)"
    result = assert_standard(node, {"a": a.T.copy() if flags[0] else a}, f"{kinds[0]}[6,5] y", constants=stored)
    assert operators(result)[-3:] == ["Cast", "Mul", "QuantizeLinear"]


@pytest.mark.parametrize("bias", ["c", '""'])
def test_a_real_result(bias):
    stored = arrays(s=np.float32(0.013), z=np.uint8(7), t=np.float32(0.02), u=np.uint8(3), b=whole(np.uint8, 40, 5))
    stored |= {"c": np.arange(5, dtype=np.int32)} if bias == "c" else {}
    node = f"y = com.microsoft.QGemm (a, s, z, b, t, u, {bias})"
    assert_standard(node, {"a": whole(np.uint8, 6, 40)}, "float[6,5] y", constants=stored, rtol=1e-6)


def test_a_scale_that_is_computed():
    inputs = {"a": whole(np.uint8, 6, 40), "v": np.asarray(np.float32(1.7))}
    stored = arrays(s=np.float32(0.013), z=np.uint8(7), t=np.float32(0.02), u=np.uint8(3), b=whole(np.uint8, 40, 5), w=np.uint8(9))
    assert_standard('y = com.microsoft.QGemm (a, s, z, b, t, u, "", v, w)', inputs, "uint8[6,5] y", constants=stored, atol=1)


@pytest.mark.parametrize("kinds", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize(
    "operands", ["a, b, s, t", "a, b, s, t, z, u", "a, b, s, t, z, u, c", 'a, b, s, t, "", u', "a, b, s, t, z"]
)
def test_integers_to_real_numbers(operands, kinds):
    a, b = whole(KINDS[kinds[0]], 2, 6, 40), whole(KINDS[kinds[1]], 40, 5)
    stored = arrays(b=b, s=np.float32(0.013), t=np.float32(0.02), z=KINDS[kinds[0]](7), u=KINDS[kinds[1]](3), c=normal(5))
    stored = {name: value for name, value in stored.items() if name in operands.split(", ")}
    node = f"y = com.microsoft.MatMulIntegerToFloat ({operands})"
    assert_standard(node, {"a": a}, "float[2,6,5] y", constants=stored, rtol=1e-5, atol=1e-5)


def test_scales_of_columns():
    stored = arrays(b=whole(np.int8, 40, 5), s=[np.float32(0.013)], t=normal(5), z=[np.uint8(7)], u=whole(np.int8, 5))
    node = "y = com.microsoft.MatMulIntegerToFloat (a, b, s, t, z, u)"
    assert_standard(node, {"a": whole(np.uint8, 6, 40)}, "float[6,5] y", constants=stored, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operands", ["a, b, t", "a, b, t, u", "a, b, t, u, c", 'a, b, t, "", c'])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [False, True])
def test_a_dynamically_quantized_operand(columns, kind, operands):
    scales = np.linspace(0.01, 0.03, 5).astype(np.float32) if columns else np.float32(0.02)
    zeros = whole(KINDS[kind], 5) if columns else KINDS[kind](3)
    stored = arrays(b=whole(KINDS[kind], 40, 5), t=scales, u=zeros, c=normal(5))
    stored = {name: value for name, value in stored.items() if name in operands.split(", ")}
    node = f"y = com.microsoft.DynamicQuantizeMatMul ({operands})"
    assert_standard(node, {"a": normal(2, 6, 40)}, "float[2,6,5] y", constants=stored, rtol=1e-4, atol=1e-4)


def test_short_integers():
    inputs = {"a": whole(np.int16, 2, 3, 4), "b": whole(np.int16, 4, 5)}
    result = assert_standard("y = com.microsoft.MatMulInteger16 (a, b)", inputs, "int32[2,3,5] y")
    assert operators(result) == ["Cast", "Cast", "MatMul"]


def test_short_integers_of_two_kinds():
    message = refused(
        "y = com.microsoft.MatMulInteger16 (a, b)", {"a": whole(np.int16, 3, 4), "b": whole(np.uint16, 4, 5)}, "int32[3,5] y"
    )
    assert "operands with a sign and without one" in message
