"""MatMulNBits as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import RANDOM, normal
from helpers import known, run

from split_rewrite.rewriter import convert_version


def packed(values: np.ndarray, bits: int) -> np.ndarray:
    """Integers of `bits` bits along the last axis as bytes, low bits first; each row fills bytes of its own."""
    per_byte = 8 // bits
    padded = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, -values.shape[-1] % per_byte)]).astype(np.uint8)
    groups = padded.reshape(*values.shape[:-1], -1, per_byte)
    return np.bitwise_or.reduce(groups << (np.arange(per_byte, dtype=np.uint8) * bits), axis=-1)


def quantized(bits: int, columns: int, block: int, rows: int = 5) -> dict[str, np.ndarray]:
    """Weights of this form, with scales and packed zero points."""
    blocks = -(-columns // block)
    values = RANDOM.integers(0, 1 << bits, (rows, blocks, block))
    zeros = RANDOM.integers(0, 1 << bits, (rows, blocks))
    scales = RANDOM.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32)
    return {"w": packed(values, bits), "s": scales, "z": packed(zeros, bits)}


def text(bits: int, columns: int, block: int, operands: str, rows: int = 5, more: str = "") -> str:
    return f"y = com.microsoft.MatMulNBits <K = {columns}, N = {rows}, bits = {bits}, block_size = {block}{more}> ({operands})"


REFUSED = {
    "bits": (text(3, 32, 16, "a, w, s"), "no weights of 3 bits in blocks of 16"),
    "prepacked": (text(4, 32, 16, "a, w, s", more=", weight_prepacked = 1"), "packed for one kind of GPU"),
    "other size": (text(4, 48, 16, "a, w, s"), "do not have the size that the attributes state"),
    "zero points": (text(4, 32, 16, "a, w, s, w"), "the zero points 'w' are not one for each block"),
}


@pytest.mark.parametrize(("node", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(node, message):
    stored = quantized(4, 32, 16)
    assert message in refused(node, {"a": normal(2, 32)}, "float[2,5] y", constants=stored)


def test_weights_that_are_an_input():
    stored = quantized(4, 32, 16)
    inputs = {"a": normal(2, 32), "w": stored.pop("w")}
    message = refused(text(4, 32, 16, "a, w, s"), inputs, "float[2,5] y", constants=stored)
    assert "the weights 'w' are computed at run time" in message


@pytest.mark.parametrize(("columns", "block"), [(64, 32), (64, 16), (72, 32), (48, 16), (40, 64)])
@pytest.mark.parametrize("operands", ["a, w, s", "a, w, s, z", 'a, w, s, z, "", b', 'a, w, s, "", "", b'])
def test_four_bits(operands, columns, block):
    stored = quantized(4, columns, block) | {"b": normal(5)}
    inputs = {"a": normal(2, 3, columns)}
    assert_standard(text(4, columns, block, operands), inputs, "float[2,3,5] y", constants=stored, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [2, 8])
@pytest.mark.parametrize("operands", ["a, w, s", "a, w, s, z"])
@pytest.mark.parametrize(("columns", "block"), [(64, 32), (72, 32)])
def test_other_bits(bits, operands, columns, block):
    stored, inputs = quantized(bits, columns, block), {"a": normal(3, columns)}
    tolerance = 1e-4 if bits < 8 else 1e-3
    assert_standard(text(bits, columns, block, operands), inputs, "float[3,5] y", constants=stored, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("opset", known(21))
def test_weights_stay_packed_where_onnx_has_their_type(opset):
    stored, inputs = quantized(4, 64, 32), {"a": normal(3, 64)}
    node = text(4, 64, 32, "a, w, s, z")
    result = assert_standard(node, inputs, "float[3,5] y", constants=stored, targets=(opset,), opset=opset, rtol=1e-4, atol=1e-4)
    assert operators(result) == ["DequantizeLinear", "Transpose", "MatMul"]
    kinds = {tensor.name: tensor.data_type for tensor in result.graph.initializer}
    assert kinds[result.graph.node[0].input[0]] == 21  # uint4
    assert_standard(node, inputs, "float[3,5] y", constants=stored, targets=(18, 13, 11), opset=opset, rtol=1e-4, atol=1e-4)


def test_zero_points_that_are_real_numbers():
    stored = quantized(4, 64, 32) | {"r": RANDOM.uniform(0, 15, (5, 2)).astype(np.float32)}
    node = text(4, 64, 32, "a, w, s, r")
    assert_standard(node, {"a": normal(3, 64)}, "float[3,5] y", constants=stored, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("order", ["regular", "mixed"])
def test_groups(order):
    groups = (np.arange(64) // 32).astype(np.int32)
    stored = quantized(4, 64, 32) | {"g": groups if order == "regular" else RANDOM.permutation(groups)}
    node = text(4, 64, 32, 'a, w, s, "", g')
    assert_standard(node, {"a": normal(3, 64)}, "float[3,5] y", constants=stored, rtol=1e-4, atol=1e-4)


def test_groups_beside_zero_points():
    stored = quantized(4, 64, 32) | {"g": np.zeros(64, np.int32)}
    message = refused(text(4, 64, 32, "a, w, s, z, g"), {"a": normal(3, 64)}, "float[3,5] y", constants=stored)
    assert "g_idx and zero points, which onnxruntime ignores then" in message


def test_an_operand_that_onnxruntime_rounds():
    """It does so with accuracy_level=4: the result is nearer to the exact product."""
    stored, inputs = quantized(4, 256, 32), {"a": normal(3, 256)}
    node = text(4, 256, 32, "a, w, s", more=", accuracy_level = 4")
    proto = contrib_model(node, inputs, "float[3,5] y", constants=stored)
    result = convert_version(proto, 13, compare="required", options=STANDARD).model
    values = np.stack([stored["w"] & 15, stored["w"] >> 4], axis=-1).reshape(5, 8, 32).astype(np.float64)
    exact = inputs["a"] @ ((values - 8) * stored["s"][:, :, None]).reshape(5, 256).T
    np.testing.assert_allclose(run(result, inputs)[0], exact, rtol=1e-4, atol=1e-4)
    assert np.abs(run(proto, inputs)[0] - exact).max() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize(("bits", "target"), [(8, 18), (8, 21), (4, 13)])
def test_blocks_of_whole_rows_are_not_rounded_by_the_optimizer(bits: int, target: int) -> None:
    """Of a DequantizeLinear for each row, onnxruntime by default makes a MatMulNBits that rounds its operand to 8 bits."""
    stored, inputs = quantized(bits, 64, 64), {"a": normal(3, 64)}
    result = assert_standard(
        text(bits, 64, 64, "a, w, s"), inputs, "float[3,5] y", constants=stored, targets=(target,), rtol=1e-4, atol=1e-4
    )
    (found,) = onnxruntime.InferenceSession(result.SerializeToString()).run(None, inputs)
    np.testing.assert_allclose(found, run(result, inputs)[0], rtol=1e-4, atol=1e-4)
