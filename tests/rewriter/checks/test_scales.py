"""What onnx.checker lets through: scales, zero points and blocks that do not fit."""

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, invalidity, model, run

QUANTIZE = "g (float[4,6] x, float{scale} s, {zero}{shape} z) => ({zero}[4,6] y) {{ y = QuantizeLinear <{attributes}> (x, s, z) }}"
DEQUANTIZE = (
    "g ({zero}[4,6] x, float{scale} s, {zero}{shape} z) => (float[4,6] y) {{ y = DequantizeLinear <{attributes}> (x, s, z) }}"
)


def node(text, opset, scale, attributes="", zero="int8", shape=None):
    text = text.format(scale=scale, zero=zero, shape=scale if shape is None else shape, attributes=attributes)
    return model(text.replace(" <>", ""), opset, 10)


INVALID = [
    (21, "[4,2]", "axis=1, block_size=2", {}, "a dimension of 6 has 3 blocks of 2, and the scale has 2"),
    (21, "[4,4]", "axis=-1, block_size=2", {}, "a dimension of 6 has 3 blocks of 2, and the scale has 4"),
    (21, "[3,3]", "axis=1, block_size=2", {}, "dimension 0 of x is 4, and the scale has 3"),
    (21, "[6]", "axis=1, block_size=2", {}, "with block_size the scale has the rank of x, which is 2, and not 1"),
    (21, "[4,3]", "axis=2, block_size=2", {}, "axis=2 is out of range for rank 2"),
    (21, "[4,3]", "axis=1, block_size=-2", {}, "block_size is -2"),
    (21, "[4,3]", "axis=1", {}, "the scale has rank 2 and there is no block_size"),
    (13, "[4,3]", "axis=1", {}, "the scale has rank 2"),
    (13, "[5]", "axis=1", {}, "axis 1 of x has a length of 6, and the scale 5 elements"),
    (13, "[6]", "axis=-2", {}, "axis -2 of x has a length of 4, and the scale 6 elements"),
    (13, "[6]", "axis=-3", {}, "axis=-3 is out of range for rank 2"),
    (10, "[6]", "", {}, "the scale has 6 elements, and before opset 13 it is a scalar"),
    (13, "[6]", "", {"shape": "[5]"}, "the shape of the zero point is (5), and that of the scale (6)"),
    (13, "[6]", "", {"shape": ""}, "the shape of the zero point is (), and that of the scale (6)"),
    (13, "", "", {"shape": "[N,2]"}, "the shape of the zero point is (N, 2), and that of the scale ()"),
]


@pytest.mark.parametrize(("opset", "scale", "attributes", "more", "message"), INVALID)
@pytest.mark.parametrize("text", [QUANTIZE, DEQUANTIZE])
def test_invalid(text, opset, scale, attributes, more, message):
    target = opset - 1
    assert f"' (main graph) is invalid: {message}" in invalidity(node(text, opset, scale, attributes, **more), target)


def test_an_output_type_and_another_zero_point():
    assert "is invalid: output_dtype is uint8 and the zero point int8" in invalidity(
        node(QUANTIZE, 21, "[6]", "output_dtype=2"), 20
    )


@pytest.mark.parametrize(("kind", "number"), [("int8", 128), ("int8", -129), ("uint8", 256), ("uint8", -1), ("uint16", 70000)])
def test_a_zero_point_beyond_its_type(kind, number):
    proto = node(DEQUANTIZE, 21, "", zero=kind, shape="")
    del proto.graph.input[2]
    proto.graph.initializer.add(name="z", data_type=onnx.TensorProto.DataType.Value(kind.upper()), int32_data=[number])
    assert f"is invalid: the zero point is {number}, beyond {kind}" in invalidity(proto, 20)


FEW_BITS = """g () => (float[2] y) <{kind}[2] w = {{1, 2}}, float s = {{0.5}}, {kind} z = {{{number}}}> {{ y = DequantizeLinear (w, s, z) }}"""


def with_zero_point(kind: str, number: int) -> onnx.ModelProto:
    """A model whose zero point is stored as `number`, alone in its byte."""
    proto = model(FEW_BITS.format(kind=kind, number=1), 21, 10)
    weight, _, zero = proto.graph.initializer
    weight.int32_data[:], zero.int32_data[:] = [0x21], [number]
    return proto


@pytest.mark.parametrize(
    ("kind", "number"), [("int4", 16), ("int4", -9), ("int4", 0x71), ("uint4", 16), ("uint4", -1), ("uint4", 255)]
)
def test_a_zero_point_beyond_four_bits(kind: str, number: int) -> None:
    assert f"is invalid: the zero point is {number}, beyond {kind}" in invalidity(with_zero_point(kind, number), 20)


@pytest.mark.parametrize(
    ("kind", "number", "value"),
    [("int4", 7, 7), ("int4", 0xF, -1), ("int4", -1, -1), ("int4", 0xFF, -1), ("int4", -8, -8), ("uint4", 15, 15)],
)
def test_four_bits_with_their_sign_or_zeros_beside_them(kind: str, number: int, value: int) -> None:
    (y,) = run(convert_version(with_zero_point(kind, number), 20).model, {})
    np.testing.assert_array_equal(y, (np.float32([1, 2]) - value) / 2)


@pytest.mark.parametrize(
    ("opset", "scale", "attributes", "shape"),
    [
        (21, (4, 3), "axis=1, block_size=2", None),
        (21, (4, 2), "block_size=4", None),
        (13, (1,), "", ()),
        (13, (4,), "axis=-2", None),
    ],
)
def test_what_is_valid_passes(opset, scale, attributes, shape):
    """A last block that is shorter, and a zero point that is a scalar beside a vector of one."""
    zero = np.zeros(scale if shape is None else shape, np.int8)
    proto = node(DEQUANTIZE, opset, str([*scale]), attributes, shape="" if shape == () else None)
    given = {"x": np.arange(24, dtype=np.int8).reshape(4, 6), "s": np.full(scale, 0.5, np.float32), "z": zero}
    assert_same(proto, opset - 1, given)


def test_parameters_of_functions_are_not_judged():
    text = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
    g (float[4,6] x, float[4,2] s) => (uint8[4,6] y) { y = own.Blocks <size = 3> (x, s) }
    <domain: "own", opset_import: ["" : 21]> Blocks <size> (x, s) => (y) { y = QuantizeLinear <block_size: int = @size> (x, s) }"""
    given = {"x": np.arange(24, dtype=np.float32).reshape(4, 6), "s": np.full((4, 2), 0.5, np.float32)}
    assert_same(model(text), 22, given)
