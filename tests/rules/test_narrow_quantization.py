"""QuantizeLinear and DequantizeLinear of types that the target does not have."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, known, refusal, run
from onnx import TensorProto, helper, numpy_helper

REWRITES = [
    (
        "narrow_quantization.quantize_to_wider_type",
        "g (float[4] x, float scale) => (float[4] y) <uint4 zero = {3}>"
        " { q = QuantizeLinear (x, scale, zero)  y = DequantizeLinear (q, scale, zero) }",
        "<uint8 zero = {3}, uint8 low = {0}, uint8 high = {15}> { q = QuantizeLinear (x, scale, zero)"
        "  c = Clip (q, low, high)  y = DequantizeLinear (c, scale, zero) }",
        21,
        13,
    ),
    (
        "narrow_quantization.dequantize_from_wider_type",
        "g (float scale) => (float[2] y) { q = Constant <value = float8e4m3fn[2] {1, 2}> ()  y = DequantizeLinear (q, scale) }",
        "{ q = Constant <value = float16[2] {6144, 7168}> ()  f = Cast <to = 1> (q)  y = Mul (f, scale) }",
        19,
        18,
    ),
]


@pytest.mark.parametrize(("rule", "before", "after", "opset", "target"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str, opset: int, target: int) -> None:
    assert_rewrites(before, after, rule, opset, target)


def quantized(kind: int, opset: int, zero: float = 0, scale_type: int = TensorProto.FLOAT, **attributes: int) -> onnx.ModelProto:
    """x, quantized to `kind` with a scale of 0.37, and back."""
    scale = helper.make_tensor("scale", scale_type, [], [0.37])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], **attributes),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    given, made = (helper.make_tensor_value_info(name, scale_type, ["N"]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [given], [made], [scale, helper.make_tensor("zero", kind, [], [zero])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            quantized(TensorProto.FLOAT8E4M3FN, 19, 1), "a zero point of a floating-point type has to be 0", id="zero_point"
        ),
    ],
)
def test_refused(given: onnx.ModelProto, message: str) -> None:
    assert message in refusal(given, 18)


X = np.concatenate([np.random.default_rng(0).standard_normal(4000) * 100, np.linspace(-6, 6, 997), [0, 1e9, -1e9]]).astype(
    np.float32
)


@pytest.mark.parametrize(("kind", "low", "high"), [(TensorProto.INT4, -8, 7), (TensorProto.UINT4, 0, 15)])
@pytest.mark.parametrize("target", [20, 13, 10, 9])
def test_integers_of_four_bits(kind: int, low: int, high: int, target: int) -> None:
    (got,) = run(convert_version(quantized(kind, 21, 2), target).model, {"x": X})
    scale = np.float32(0.37)
    steps = np.clip(np.rint(X / scale) + 2, low, high) - 2
    np.testing.assert_array_equal(got, steps.astype(np.float32) * scale)


@pytest.mark.skipif(not known(28), reason="onnx has no float6")
@pytest.mark.parametrize(
    ("kind", "name"), [(23, "float4_e2m1fn"), (27, "float6_e2m3fn"), (28, "float6_e3m2fn")], ids=["float4e2m1", "e2m3", "e3m2"]
)
@pytest.mark.parametrize("target", [22, 18, 9])
def test_floats_of_six_and_four_bits(kind: int, name: str, target: int) -> None:
    (got,) = run(convert_version(quantized(kind, 28), target).model, {"x": X})
    scale = np.float32(0.37)
    np.testing.assert_array_equal(got, (X / scale).astype(getattr(ml_dtypes, name)).astype(np.float32) * scale)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"])
@pytest.mark.parametrize("target", [18, 13, 10, 9])
def test_floats_of_eight_bits(name: str, target: int) -> None:
    kind = TensorProto.DataType.Value(name.replace("_", "").upper())
    (got,) = run(convert_version(quantized(kind, 19), target).model, {"x": X})
    scale, dtype = np.float32(0.37), getattr(ml_dtypes, name)
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    expected = np.clip(X / scale, -largest, largest).astype(dtype).astype(np.float32) * scale
    np.testing.assert_array_equal(got, expected)


HALVES = np.arange(0x7C00, dtype=np.uint16).view(np.float16)
"""All finite numbers of float16 from 0 on."""


@pytest.mark.parametrize(
    ("opset", "precision", "divided_in"),
    [(19, 0, np.float32), (22, 0, np.float32)]
    + [(opset, *row) for opset in known(23, 25) for row in ((0, np.float16), (1, np.float32), (10, np.float16))],
)
def test_half_precision_is_divided_in_float_below_opset_23(opset: int, precision: int, divided_in: type) -> None:
    attributes = {"precision": precision} if precision else {}
    source = quantized(TensorProto.FLOAT8E4M3FN, opset, scale_type=TensorProto.FLOAT16, **attributes)
    source.graph.node[1].CopyFrom(helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT))
    source.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    (got,) = run(convert_version(source, 18).model, {"x": HALVES}, "onnx.reference")
    with np.errstate(over="ignore"):
        quotient = HALVES.astype(divided_in) / np.float16(0.37).astype(divided_in)
    expected = np.minimum(quotient.astype(np.float32), 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("scale", "axis"), [(np.float32([0.5, 0.25, 3]), 1), (np.float32([0.5, 0.25]), 0), (np.float32([0.3]), 1)])
def test_scale_for_each_index_of_an_axis(scale: np.ndarray, axis: int) -> None:
    weight = np.random.default_rng(1).standard_normal((2, 3)).astype(ml_dtypes.float8_e5m2)
    raw = TensorProto(name="w", data_type=TensorProto.FLOAT8E5M2, dims=weight.shape, raw_data=weight.tobytes())
    stored = [raw, numpy_helper.from_array(scale, "scale")]
    node = helper.make_node("DequantizeLinear", ["w", "scale"], ["y"], axis=axis)
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])], stored)
    given = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    (got,) = run(convert_version(given, 13).model, {})
    np.testing.assert_array_equal(got, weight.astype(np.float32) * (scale[:, None] if axis == 0 else scale))
