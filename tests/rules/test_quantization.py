"""QuantizeLinear and DequantizeLinear: scales per axis and block, types that differ."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, invalidity, known, model, refusal, run

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.execution.messages import OPTIMIZED
from split_rewrite.rewriter.opsets.transitions import newest_opset

TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, 2.4, -2.6], np.float32)


SINCE_23 = pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no opset 23")

DTYPES = {"uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16, "int32": np.int32}
KINDS = {"float": np.float32, "float16": np.float16}


def quantize(opset, x="float[4,6]", scale="float", zero="uint8", y="uint8[4,6]", attributes=""):
    given, name = ("", "") if zero is None else (f", {zero} z", ", z")
    text = f"g ({x} x, {scale} s{given}) => ({y} y) {{ y = QuantizeLinear <{attributes}> (x, s{name}) }}"
    return model(text.replace(" <>", ""), opset, 10)


def dequantize(opset, x="uint8[4,6]", scale="float", zero="uint8", y="float[4,6]", attributes=""):
    given, name = ("", "") if zero is None else (f", {zero} z", ", z")
    text = f"g ({x} x, {scale} s{given}) => ({y} y) {{ y = DequantizeLinear <{attributes}> (x, s{name}) }}"
    return model(text.replace(" <>", ""), opset, 10)


REFUSED = [
    pytest.param(
        model("g (float[4] x, int32 s) => (uint8[4] y) { y = QuantizeLinear (x, s) }", min(23, newest_opset())),
        22,
        "'x' is divided in int32, which is new in opset 23",
        id="the quotient would be an integer",
        marks=SINCE_23,
    ),
    pytest.param(
        quantize(21, x="int32[4,6]", scale="int32[2,6]", zero="int8[2,6]", y="int8[4,6]", attributes="axis=0, block_size=2"),
        20,
        "the scale 's' is not a floating-point number",
        id="a quotient of integers",
    ),
    pytest.param(
        quantize(21, scale="float[2,6]", zero="float8e4m3fn[2,6]", y="float8e4m3fn[4,6]", attributes="axis=0, block_size=2"),
        20,
        "quantizing to float8e4m3fn by several zero points needs a newer QuantizeLinear",
        id="zero points that only the operator adds",
    ),
]


@pytest.mark.parametrize("proto, target, message", REFUSED)
def test_refuses(proto, target, message):
    assert message in refusal(proto, target)


def spread(value, shape, axis, block):
    """A scale or zero point in a shape that broadcasts to `shape`."""
    value = np.asarray(value)
    if block:
        return np.repeat(value, block, axis=axis)[tuple(slice(size) for size in shape)]
    return value.reshape([-1 if i == axis else 1 for i in range(len(shape))]) if value.ndim == 1 else value


def quantized(x, scale, zero, dtype, axis=1, block=0):
    info = np.iinfo(dtype)
    whole = np.rint(x / spread(scale, x.shape, axis, block)).astype(np.float64) + spread(zero, x.shape, axis, block)
    return np.clip(whole, info.min, info.max).astype(dtype)


def dequantized(x, scale, zero, axis=1, block=0):
    """One rounding, at the product."""
    scale = spread(scale, x.shape, axis, block)
    difference = x.astype(np.int64) - spread(zero, x.shape, axis, block).astype(np.int64)
    return (difference.astype(np.float64) * scale.astype(np.float64)).astype(scale.dtype)


X = np.concatenate([np.linspace(-300, 300, 20), [0.5, 1.5, -0.5, 2.5]]).astype(np.float32).reshape(4, 6)
SCALES = np.float32([0.5, 1, 2, 0.25, 3, 1])


@pytest.mark.parametrize("target", [12, 11])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("axis", [1, -1, 0])
def test_a_scale_per_axis_is_written_out(dtype, axis, target):
    length = 4 if axis == 0 else 6
    zero = np.arange(length).astype(dtype)
    proto = quantize(13, scale=f"float[{length}]", zero=f"{dtype}[{length}]", y=f"{dtype}[4,6]", attributes=f"axis={axis}")
    got = run(convert_version(proto, target).model, {"x": X, "s": SCALES[:length], "z": zero})[0]
    np.testing.assert_array_equal(got, quantized(X, SCALES[:length], zero, DTYPES[dtype], axis % 2))


@pytest.mark.parametrize("target", [12, 9])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("axis", [1, 0])
def test_back_from_a_scale_per_axis(dtype, axis, target):
    length = 4 if axis == 0 else 6
    x = np.random.default_rng(1).integers(-100, 100, (4, 6)).astype(dtype)
    zero = np.arange(length).astype(dtype)
    proto = dequantize(13, x=f"{dtype}[4,6]", scale=f"float[{length}]", zero=f"{dtype}[{length}]", attributes=f"axis={axis}")
    got = run(convert_version(proto, target).model, {"x": x, "s": SCALES[:length], "z": zero})[0]
    np.testing.assert_array_equal(got, dequantized(x, SCALES[:length], zero, axis))


def test_back_from_int32_without_a_zero_point():
    x = np.array([2**24 + 1, -3, 5], np.int32)
    proto = dequantize(13, x="int32[3]", scale="float[3]", zero=None, y="float[3]", attributes="axis=0")
    got = run(convert_version(proto, 12).model, {"x": x, "s": SCALES[:3]})[0]
    np.testing.assert_array_equal(got, x.astype(np.float32) * SCALES[:3])


@pytest.mark.parametrize("scale", ["float", "float[1]"])
@pytest.mark.parametrize("make, op", [(quantize, "QuantizeLinear"), (dequantize, "DequantizeLinear")])
def test_one_scale_for_all_stays(make, op, scale):
    proto = make(13, scale=scale, zero=scale.replace("float", "uint8"))
    x = X if make is quantize else np.arange(24, dtype=np.uint8).reshape(4, 6)
    shape = () if scale == "float" else (1,)
    result = assert_same(proto, 10, {"x": x, "s": np.full(shape, 0.5, np.float32), "z": np.full(shape, 3, np.uint8)})
    node = result.graph.node[-1]
    assert node.op_type == op and not node.attribute
    onnx.checker.check_model(result, full_check=True)


@pytest.mark.parametrize("x", ["[4,6]", "[N,6]", "[4,N]", "[N,M]"])
@pytest.mark.parametrize("zero_type", ["int8", "uint16"])
@pytest.mark.parametrize("target", [20, 13, 11, 9])
@pytest.mark.parametrize("axis, block, shape", [(1, 3, (4, 2)), (1, 4, (4, 2)), (0, 2, (2, 6)), (0, 3, (2, 6)), (-1, 6, (4, 1))])
def test_blocks(axis, block, shape, target, zero_type, x):
    """Whether they divide the axis or not, and whether its length is known or not."""
    scale = np.random.default_rng(2).uniform(0.5, 2, shape).astype(np.float32)
    zero = np.random.default_rng(3).integers(0, 5, shape).astype(zero_type)
    sizes = f"[{shape[0]},{shape[1]}]"
    attributes = f"axis={axis}, block_size={block}"
    down = quantize(21, f"float{x}", f"float{sizes}", f"{zero_type}{sizes}", f"{zero_type}{x}", attributes)
    got = run(convert_version(down, target).model, {"x": X, "s": scale, "z": zero})[0]
    np.testing.assert_array_equal(got, quantized(X, scale, zero, DTYPES[zero_type], axis % 2, block))
    back = dequantize(21, f"{zero_type}{x}", f"float{sizes}", f"{zero_type}{sizes}", f"float{x}", attributes)
    feeds = {"x": got, "s": scale, "z": zero}
    np.testing.assert_array_equal(
        run(convert_version(back, target).model, feeds)[0], dequantized(got, scale, zero, axis % 2, block)
    )


@pytest.mark.parametrize("target", [20, 18, 12])
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_blocks_of_half_precision(target, rows):
    """The product is rounded once; a tensor without elements has no blocks."""
    x = np.random.default_rng(6).integers(-128, 128, (rows, 6)).astype(np.int8)
    scale = np.random.default_rng(7).uniform(0.01, 300, (rows, 2)).astype(np.float16)
    zero = np.random.default_rng(8).integers(-128, 128, (rows, 2)).astype(np.int8)
    text = f"int8[{rows},6]", f"float16[{rows},2]", f"int8[{rows},2]", f"float16[{rows},6]", "axis=1, block_size=3"
    got = run(convert_version(dequantize(21, *text), target).model, {"x": x, "s": scale, "z": zero})[0]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, dequantized(x, scale, zero, 1, 3))


@pytest.mark.parametrize("x, scale", [((4, 0), (4, 0)), ((0, 4), (0, 2)), ((2, 4, 0), (2, 2, 0))])
def test_blocks_of_nothing(x, scale):
    text = f"g (uint8{[*x]} x, float{[*scale]} s) => (float{[*x]} y) {{ y = DequantizeLinear <block_size=2> (x, s) }}"
    assert_same(model(text, 21, 10), 20, {"x": np.zeros(x, np.uint8), "s": np.zeros(scale, np.float32)})


def test_zero_points_of_0_leave_no_node():
    text = "g (float[8,2] x, float[2,2] s) => (int8[8,2] y) <int8[2,2] z = {0, 0, 0, 0}> { y = QuantizeLinear <axis=0, block_size=4> (x, s, z) }"
    nodes = convert_version(model(text, 21, 10), 20).model.graph.node
    assert [node.op_type for node in nodes] == ["Unsqueeze", "Reshape", "Div", "QuantizeLinear", "Reshape"]
    text = "g (int8[8,2] x, float[2] s) => (float[8,2] y) <int8[2] z = {0, 0}> { y = DequantizeLinear (x, s, z) }"
    nodes = convert_version(model(text, 13), 12).model.graph.node
    assert [node.op_type for node in nodes] == ["DequantizeLinear", "Mul"]


@pytest.mark.parametrize("target", [22, 21, 20])
@pytest.mark.parametrize("axis, scale", [(0, (2, 6)), (1, (4, 2))])
@SINCE_23
def test_blocks_of_8_bit_floats_where_they_exist(axis, scale, target):
    """The operator itself rounds and saturates what Div divided. Runtimes do not reshape float8, so nothing else is reshaped."""
    attributes = f"axis={axis}, block_size={4 // scale[0] if axis == 0 else 3}, output_dtype=17"
    sizes = f"[{scale[0]},{scale[1]}]"
    text = f"g (float[4,6] x, float{sizes} s) => (float8e4m3fn[4,6] y) {{ y = QuantizeLinear <{attributes}> (x, s) }}"
    step = np.random.default_rng(5).uniform(0.5, 2, scale).astype(np.float32)
    proto = model(text.replace("(float8e4m3fn[4,6] y)", "(float[4,6] z)").replace("s) }", "s) z = Cast <to=1> (y) }"), 23, 10)
    assert_same(proto, target, {"x": X, "s": step})


@pytest.mark.parametrize("dtype", ["uint16", "int16"])
def test_integers_of_16_bits_are_written_out(dtype):
    x, scale = X * 200, np.float32(0.5)
    zero = np.array(7, dtype)
    got = run(
        convert_version(quantize(21, zero=dtype, y=f"{dtype}[4,6]"), 18).model,
        {"x": x, "s": scale[None][0:1].reshape(()), "z": zero},
    )[0]
    np.testing.assert_array_equal(got, quantized(x, scale, zero, DTYPES[dtype]))
    back = convert_version(dequantize(21, x=f"{dtype}[4,6]", zero=dtype), 18).model
    np.testing.assert_array_equal(
        run(back, {"x": got, "s": np.array(scale), "z": zero})[0], dequantized(got, np.array(scale), zero)
    )


def test_an_output_type_becomes_a_zero_point():
    result = convert_version(quantize(21, zero=None, y="int8[4,6]", attributes="output_dtype=3"), 19).model
    assert [node.op_type for node in result.graph.node] == ["QuantizeLinear"]
    got = run(result, {"x": X, "s": np.array(2, np.float32)})[0]
    np.testing.assert_array_equal(got, quantized(X, np.float32(2), 0, np.int8))


TIES_OF_HALVES = (np.random.default_rng(0).normal(size=6000) * 5).astype(np.float32)
"""Among so many, float and float16 round some quotients to different integers."""


@SINCE_23
@pytest.mark.parametrize("target", [22, 18, 12, 10])
@pytest.mark.parametrize("x", ["float", "float16"])
@pytest.mark.parametrize("scale", ["float", "float16"])
@pytest.mark.parametrize("precision", ["", "precision=1", "precision=10"])
def test_x_is_divided_in_the_precision_or_the_type_of_the_scale(x, scale, precision, target):
    """onnxruntime drops a Cast to float16 and back, so onnx.reference says what comes of that."""
    feeds = {"x": TIES_OF_HALVES.astype(KINDS[x]), "s": np.array(0.0371, KINDS[scale]), "z": np.array(-3, np.int8)}
    proto = quantize(23, f"{x}[6000]", scale, "int8", "int8[6000]", precision)
    is_half = precision == "precision=10" or (scale == "float16" and not precision)
    result = convert_version(proto, target).model
    got = run(result, feeds, "onnx.reference" if is_half else "onnxruntime")[0]
    np.testing.assert_array_equal(got, run(proto, feeds)[0])


@SINCE_23
def test_integers_are_divided_in_the_type_of_the_scale():
    data = np.arange(-12, 12, dtype=np.int32).reshape(4, 6)
    result = convert_version(quantize(23, "int32[4,6]"), 21).model
    got = run(result, {"x": data, "s": np.array(0.7, np.float32), "z": np.array(9, np.uint8)})[0]
    np.testing.assert_array_equal(got, quantized(data.astype(np.float32), np.float32(0.7), 9, np.uint8))


@SINCE_23
@pytest.mark.parametrize("target", [22, 18, 12, 9])
@pytest.mark.parametrize("scale, kind", [("float16", "float"), ("float", "float16")])
def test_an_output_of_another_type_is_rounded_once(scale, kind, target):
    x, step = np.arange(256, dtype=np.uint8).reshape(4, 64), np.array(0.1234567, KINDS[scale])
    proto = dequantize(23, "uint8[4,64]", scale, y=f"{kind}[4,64]", attributes=f"output_dtype={1 if kind == 'float' else 10}")
    assert_same(proto, target, {"x": x, "s": step, "z": np.array(9, np.uint8)})


def test_up_integers_are_divided_as_floats():
    data = np.arange(-12, 12, dtype=np.int32).reshape(4, 6)
    proto = quantize(13, "int32[4,6]")
    got = run(convert_version(proto, 21).model, {"x": data, "s": np.array(0.7, np.float32), "z": np.array(9, np.uint8)})[0]
    np.testing.assert_array_equal(got, quantized(data.astype(np.float32), np.float32(0.7), 9, np.uint8))


@pytest.mark.parametrize("opset", [19, 21])
@pytest.mark.parametrize("target", known(23, 25, 21, 18, 13, 11, 9))
@pytest.mark.parametrize("length", ["", "[40]"])
def test_half_precision_is_divided_in_float_before_23(opset, target, length):
    """As onnxruntime does; the pages of opsets 19 to 22 do not say in which precision."""
    data = TIES_OF_HALVES.reshape(150, 40).astype(np.float16)
    scale = np.full([int(size) for size in length.strip("[]").split() if size], 0.0371, np.float16)
    zero = np.full(scale.shape, 9, np.uint8)
    down = quantize(opset, "float16[150,40]", f"float16{length}", f"uint8{length}", "uint8[150,40]")
    assert_same(down, target, {"x": data, "s": scale, "z": zero})
    back = dequantize(opset, "uint8[4,40]", f"float16{length}", f"uint8{length}", "float16[4,40]")
    feeds = {"x": np.arange(160, dtype=np.uint8).reshape(4, 40), "s": scale, "z": zero}
    assert_same(back, target, feeds)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("target", [9, 7])
def test_quantize_below_10(kind, target):
    text = f"g (float[N] x) => ({kind}[N] y) <float s = {{0.5}}, {kind} z = {{3}}> {{ y = QuantizeLinear (x, s, z) }}"
    assert_same(model(text, 10), target, {"x": np.concatenate([TIES, [1e9, -1e9, 63, -64]]).astype(np.float32)})


def test_quantize_without_zero_point():
    text = "g (float[N] x) => (uint8[N] y) <float s = {0.25}> { y = QuantizeLinear (x, s) }"
    assert_same(model(text, 10), 9, {"x": TIES})


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("target", [9, 7])
def test_dequantize_below_10(kind, target):
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


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize(
    "x",
    [
        [1e-45],
        [-1e-45],
        [1e-45, -1e-45],
        [2e-43, -2e-43],
        [np.inf],
        [-np.inf],
        [np.inf, -np.inf],
        [1, -np.inf, 2],
        [3e38, -3e38],
        [-0.0],
    ],
)
def test_dynamic_quantization_of_extremes(target, x):
    """A scale that is infinite, or that underflows to 0, makes NaN of the zero point, which both runtimes read as 255."""
    text = "g (float[N] x) => (uint8[N] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }"
    assert_same(model(text, 11), target, {"x": np.array(x, np.float32)})


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("make", [quantize, dequantize])
def test_a_scale_that_is_no_number_is_refused(make, number):
    proto = make(19)
    del proto.graph.input[1]
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(number, np.float32), "s"))
    assert "the scale 's' is not finite" in refusal(proto, 9)


def test_an_axis_that_there_is_not_is_invalid() -> None:
    text = "g (float[2,3] x, float[2] s, uint8[2] z) => (uint8[2,3] y) {y = QuantizeLinear<axis = -9223372036854775808>(x, s, z)}"
    assert "is out of range for rank 2" in invalidity(model(text, 16), 12)


REWRITES = [
    (
        "quantization.keep_dividing_in_float",
        21,
        23,
        "g (float16[2] x, float16 s) => (uint8[2] y) { y = QuantizeLinear (x, s) }",
        "{ y = QuantizeLinear <precision = 1> (x, s) }",
    ),
    (
        "quantization.divide_in_one_type",
        23,
        22,
        "g (float[2] x, float16 s, int8 z) => (int8[2] y) { y = QuantizeLinear (x, s, z) }",
        "<float16 v3 = {15360}> { v1 = Cast <to = 10> (x) v2 = Div (v1, s) y = QuantizeLinear (v2, v3, z) }",
    ),
    (
        "quantization.multiply_in_output_type",
        23,
        22,
        "g (int8[2] x, float s) => (float16[2] y) { y = DequantizeLinear <output_dtype = 10> (x, s) }",
        "{ v1 = DequantizeLinear (x, s) y = Cast <to = 10> (v1) }",
    ),
    (
        "quantization.quantize_blocks",
        21,
        20,
        "g (float[2] x, float s) => (int8[2] y) { y = QuantizeLinear <output_dtype = 3> (x, s) }",
        "<int8 v1 = {0}> { y = QuantizeLinear (x, s, v1) }",
    ),
    (
        "quantization.quantize_blocks",
        21,
        20,
        "g (float[2,8] x, float[2,2] s, int8[2,2] z) => (int8[2,8] y) { y = QuantizeLinear <block_size = 4> (x, s, z) }",
        """<int64[2] v1 = {-1,4}, int64[1] v3 = {-1}, int64[2] v7 = {2,8}>
        { v2 = Reshape (x, v1) v4 = Reshape (s, v3) v5 = Reshape (z, v3) v6 = QuantizeLinear <axis = 0> (v2, v4, v5) y = Reshape (v6, v7) }""",
    ),
    (
        "quantization.dequantize_blocks",
        21,
        20,
        "g (int8[8,N] x, int8[2,N] z) => (float[8,N] y) <float[2,1] s = {0.5, 2}> { y = DequantizeLinear <axis = 0, block_size = 4> (x, s, z) }",
        """<int64[1] v1 = {1}, int64[3] v3 = {2,4,-1}, float one = {1}, float[2,1,1] v8 = {0.5, 2}, int64[2] v10 = {8,-1}>
        { v2 = Unsqueeze (z, v1) v4 = Reshape (x, v3) v5 = DequantizeLinear (v4, one) v6 = Cast <to = 1> (v2) v7 = Sub (v5, v6)
          v9 = Mul (v7, v8) y = Reshape (v9, v10) }""",
    ),
    (
        "quantization.dequantize_blocks",
        21,
        20,
        """g (float[N] x) => (float[N] y) <float s = {0.5}, int16 z = {-7}> {
             q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }""",
        """<float s = {0.5}, float low = {-32761}, float high = {32774}> {
             d = Div (x, s)  r = Round (d)  c = Clip (r, low, high)  i = Cast <to = 6> (c)  f = Cast <to = 1> (i)  y = Mul (f, s) }""",
    ),
    (
        "quantization.dequantize_blocks",
        21,
        20,
        """g (float[2,3] x) => (float[3,2] y) <float s = {0.5}, int16 z = {-7}> {
             q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  y = Transpose (d) }""",
        """<float s = {0.5}, float low = {-32761}, float high = {32774}> {
             d = Div (x, s)  r = Round (d)  c = Clip (r, low, high)  i = Cast <to = 6> (c)  f = Cast <to = 1> (i)  e = Mul (f, s)
             y = Transpose (e) }""",
    ),
    (
        "quantization.dequantize_blocks",
        21,
        20,
        "g (int8[2,3] x, float s) => (float[3,2] y) { d = DequantizeLinear (x, s)  y = Transpose (d) }",
        "<int8 z = {0}> { d = DequantizeLinear (x, s, z)  y = Transpose (d) }",
    ),
    (
        "quantization.keep_loading_in_onnxruntime",
        20,
        21,
        "g (int8[2,3] x, float s) => (float[3,2] y) <int8 z = {0}> { d = DequantizeLinear (x, s, z)  y = Transpose (d) }",
        "{ d = DequantizeLinear (x, s)  y = Transpose (d) }",
    ),
    (
        "quantization.keep_loading_in_onnxruntime",
        20,
        21,
        "g (int8[2,3] x, float s) => (float[3,2] y) <int8 z = {5}> { d = DequantizeLinear (x, s, z)  y = Transpose (d) }",
        "<int16 z = {5}> { w = Cast <to = 5> (x)  d = DequantizeLinear (w, s, z)  y = Transpose (d) }",
    ),
    (
        "quantization.cast_to_type_of_scale",
        18,
        19,
        "g (int32[2] x, float s) => (uint8[2] y) { y = QuantizeLinear (x, s) }",
        "{ v1 = Cast <to = 1> (x) y = QuantizeLinear (v1, s) }",
    ),
    (
        "quantization.quantize_half_precision",
        19,
        18,
        "g (float16[2] x) => (uint8[2] y) <float16 s = {14336}> { y = QuantizeLinear <saturate = 1> (x, s) }",
        "<float v2 = {0.5}> { v1 = Cast <to = 1> (x) y = QuantizeLinear (v1, v2) }",
    ),
    (
        "quantization.dequantize_half_precision",
        19,
        18,
        "g (uint8[2] x, uint8 z) => (float16[2] y) <float16 s = {14336}> { y = DequantizeLinear (x, s, z) }",
        "<float v1 = {0.5}> { v2 = DequantizeLinear (x, v1, z) y = Cast <to = 10> (v2) }",
    ),
    (
        "quantization.quantize_along_axis",
        13,
        12,
        "g (float[2,3] x, float[3] s) => (int8[2,3] y) <int8[3] z = {4, 4, 4}> { y = QuantizeLinear (x, s, z) }",
        "<float v2 = {1}, int8 v3 = {4}> { v1 = Div (x, s) y = QuantizeLinear (v1, v2, v3) }",
    ),
    (
        "quantization.dequantize_along_axis",
        13,
        12,
        "g (int8[2,3] x) => (float[2,3] y) <float[2] s = {1, 2}> { y = DequantizeLinear <axis = 0> (x, s) }",
        "<float one = {1}, float[2,1] v2 = {1, 2}> { v1 = DequantizeLinear (x, one) y = Mul (v1, v2) }",
    ),
    (
        "quantization.round_and_clip",
        10,
        9,
        "g (float[2] x, float s, int8 z) => (int8[2] y) { y = QuantizeLinear (x, s, z) }",
        """<float v6 = {0.5}, float v11 = {0}>
        { v1 = Div (x, s) v2 = Cast <to = 1> (z)
          v3 = Ceil (v1) v4 = Sub (v3, v1) v5 = Greater (v4, v6) v7 = Less (v4, v6) v8 = Not (v7) v9 = Mul (v3, v6) v10 = Floor (v9)
          v12 = Sub (v9, v10) v13 = Greater (v12, v11) v14 = And (v8, v13) v15 = Or (v5, v14) v16 = Cast <to = 1> (v15)
          v26 = Sub (v3, v16)
          v27 = Add (v26, v2) v28 = Clip <max = 127.0, min = -128.0> (v27) y = Cast <to = 3> (v28) }""",
    ),
    (
        "quantization.subtract_and_scale",
        10,
        9,
        "g (uint8[2] x, float s, uint8 z) => (float[2] y) { y = DequantizeLinear (x, s, z) }",
        "{ v1 = Cast <to = 1> (x) v2 = Cast <to = 1> (z) v3 = Sub (v1, v2) y = Mul (v3, s) }",
    ),
    (
        "quantization.quantize_by_extremes",
        11,
        10,
        "g (float[2] x) => (uint8[2] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }",
        """<float v2 = {0}, float v10 = {255}, float one = {1}>
        { v1 = ReduceMin <keepdims = 0> (x) v3 = Min (v1, v2) v4 = ReduceMax <keepdims = 0> (x) v5 = Max (v4, v2) v6 = Sub (v5, v3)
          v7 = Greater (v6, v2) v8 = Not (v7) v9 = Cast <to = 1> (v8) v11 = Mul (v9, v10) v12 = Add (v6, v11) s = Div (v12, v10)
          v13 = Neg (v3) v14 = Div (v13, s) v15 = IsNaN (v14) v16 = Where (v15, v10, v14) z = QuantizeLinear (v16, one) y = QuantizeLinear (x, s, z) }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [20, 13, 11])
@pytest.mark.parametrize(
    ("shape", "scale", "sizes", "attributes", "block"),
    [
        ("[4,6]", "[N]", [6], "", 0),
        ("[A,B]", "[A,2]", [4, 2], ", block_size = 3", 3),
        ("[A,6]", "[A,2]", [4, 2], ", block_size = 3", 3),
        ("[A,B]", "[A,2]", [4, 2], ", block_size = 4", 4),
    ],
)
def test_output_type_without_a_zero_point(
    shape: str, scale: str, sizes: list[int], attributes: str, block: int, target: int
) -> None:
    """Where the shape of the scale is not known either."""
    text = f"g (float{shape} x, float{scale} s) => (int8{shape} y) {{ y = QuantizeLinear <output_dtype = 3{attributes}> (x, s) }}"
    scales = np.linspace(0.5, 3, int(np.prod(sizes)), dtype=np.float32).reshape(sizes)
    (y,) = run(convert_version(model(text, 21, 10), target).model, {"x": X, "s": scales})
    np.testing.assert_array_equal(y, quantized(X, scales, np.zeros_like(scales), np.int8, 1, block))


@pytest.mark.parametrize("target", [20, 18, 13])
def test_blocks_of_eight_bit_floats_of_unknown_shape(target: int) -> None:
    """Runtimes do not say the shape of such values."""
    text = """g (float[A,B] x, float[A,2] s) => (float[A,B] y) {
        q = QuantizeLinear <block_size = 3, output_dtype = 19> (x, s)  y = DequantizeLinear <block_size = 3> (q, s) }"""
    scale = np.float32([[0.5, 1], [2, 3], [0.1, 0.2], [7, 1]])
    (y,) = run(convert_version(model(text, 21, 10), target).model, {"x": X, "s": scale})
    each = spread(scale, X.shape, 1, 3)
    np.testing.assert_array_equal(y, (X / each).astype(ml_dtypes.float8_e5m2).astype(np.float32) * each)


@pytest.mark.skipif(not known(25), reason="onnx has no opset 25")
@pytest.mark.parametrize(("kind", "number", "low", "high"), [("uint4", 21, 0, 15), ("int4", 22, -8, 7), ("int2", 26, -2, 1)])
def test_zero_points_of_few_bits_in_blocks(kind: str, number: int, low: int, high: int) -> None:
    """Gather does not take 4 bits, and half precision is divided by a Div before opset 23."""
    text = f"""g (float16[4,N] x, float16[4,2] s) => (int8[4,N] y) <{kind}[4,2] z = {{1, 0, 1, 0, 0, 0, 1, 1}}> {{
        q = QuantizeLinear <block_size = 3> (x, s, z)  y = Cast <to = 3> (q) }}"""
    given = model(text, 25, 13)
    bits = 2 if number > 22 else 4
    per_byte, numbers = 8 // bits, [1, 0, 1, 0, 0, 0, 1, 1]
    packed = [sum(n << (bits * k) for k, n in enumerate(numbers[i : i + per_byte])) for i in range(0, 8, per_byte)]
    given.graph.initializer[0].CopyFrom(onnx.TensorProto(name="z", data_type=number, dims=[4, 2], raw_data=bytes(packed)))
    x = np.random.default_rng(0).normal(0, 4, (4, 6)).astype(np.float16)
    scale = np.full((4, 2), 0.75, np.float16)
    quotient = (x / spread(scale, x.shape, 1, 3)).astype(np.float16)
    expected = np.clip(np.rint(quotient) + spread(np.reshape(numbers, (4, 2)), x.shape, 1, 3), low, high)
    for target in known(21 if bits == 4 else 24, 20, 13):
        (y,) = run(convert_version(given, target).model, {"x": x, "s": scale}, "onnx.reference")
        np.testing.assert_array_equal(y, expected, err_msg=f"opset {target}")


@pytest.mark.parametrize("kind", ["int16", "uint16"])
@pytest.mark.parametrize(("zero", "zero_back"), [(0, 0), (7, 7), (7, 8), (0, 7), (7, 0)])
@pytest.mark.parametrize("target", [20, 11])
def test_sixteen_bits_there_and_back(kind: str, zero: int, zero_back: int, target: int) -> None:
    """Whatever the two zero points are, and with 0 where it was 0, not -0."""
    text = f"""g (float[N] x) => (float[N] y, {kind}[N] q) <float s = {{0.37}}, float t = {{3}}, {kind} z = {{{zero}}}, {kind} b = {{{zero_back}}}> {{
        q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, t, b) }}"""
    x = np.float32([*np.linspace(-3, 3, 99), -0.0, 1e5, -1e5, 2e4, -2e4, 1e30, -1e30, np.inf, -np.inf])
    y, q = run(convert_version(model(text, 21, 10), target).model, {"x": x})
    expected = quantized(x, np.float32(0.37), zero, DTYPES[kind])
    np.testing.assert_array_equal(q, expected)
    back = dequantized(expected, np.float32(3), np.array(zero_back))
    np.testing.assert_array_equal(y, back)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(back))


def test_arithmetic_for_a_runtime_without_the_operator(tmp_path: Path) -> None:
    profile = tmp_path / "npu.toml"
    profile.write_text(
        """title = "NPU"
[[release]]
from = "1.0"
to = "1.0"
opset = { min = 7, max = 12 }
operators_refused = ["DequantizeLinear"]
evidence = "by documentation"
source = "invented"
"""
    )
    given = model("g (int8[8,2] x, float[2] s) => (float[8,2] y) <int8[2] z = {0, 1}> { y = DequantizeLinear (x, s, z) }", 13)
    nodes = convert_version(given, 12, options=Options(for_runtimes=[str(profile)])).model.graph.node
    assert [node.op_type for node in nodes] == ["Cast", "Sub", "Mul"]


MOVED = {
    "Transpose": "y = Transpose (d)",
    "MaxPool": "e = Unsqueeze (d, axes)  y = MaxPool <kernel_shape = [1,2]> (e)",
    "Reshape": "y = Reshape (d, flat)",
    "Squeeze": "e = Unsqueeze (d, axes)  y = Squeeze (e, axes)",
    "MatMul and Add": "e = Unsqueeze (d, one)  m = MatMul (e, w)  y = Add (m, b)",
}


@pytest.mark.parametrize("target", known(20, 21, 23, 25))
@pytest.mark.parametrize("zero", ["", ", z", ", o"])
@pytest.mark.parametrize("moves", MOVED)
def test_signed_integers_whose_real_numbers_are_moved(moves: str, zero: str, target: int) -> None:
    """onnxruntime, with its optimizer as by default, loads them, and gives what it gives without it."""
    source = model(
        f"""g (float[2,4] x) => (float y) <float s = {{0.1}}, int8 z = {{5}}, int8 o = {{0}}, int64[2] axes = {{0, 1}},
        int64[1] one = {{0}}, int64[1] flat = {{8}}, float[4,2] w = {{1,2,3,4,5,6,7,8}}, float[2] b = {{0.5,0.25}}> {{
        q = QuantizeLinear (x, s, {zero.removeprefix(", ") or "o"})  d = DequantizeLinear (q, s{zero})  {MOVED[moves]} }}""",
        21,
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    (expected,) = run(source, {"x": x})
    given = convert_version(source, 20).model
    for proto in (given, convert_version(given, target).model):
        np.testing.assert_allclose(run(proto, {"x": x}, OPTIMIZED)[0], expected, rtol=1e-5, atol=1e-6)


def test_signed_integers_that_are_quantized_again_stay() -> None:
    source = model(
        """g (int8[2,3] x, float s) => (int8[3,2] y) <int8 z = {5}> {
        d = DequantizeLinear (x, s, z)  t = Transpose (d)  y = QuantizeLinear (t, s, z) }""",
        20,
    )
    assert [node.op_type for node in convert_version(source, 21).model.graph.node] == [
        "DequantizeLinear",
        "Transpose",
        "QuantizeLinear",
    ]


@pytest.mark.parametrize("kind", ["int16", "uint16"])
def test_sixteen_bits_that_are_moved(kind: str) -> None:
    """onnxruntime, with its optimizer as by default, gives the same as without it."""
    zero = 32768 if kind == "uint16" else 12
    source = model(
        f"""g (float[2,4] x) => (float[4,2] y) <float s = {{0.001}}, {kind} z = {{{zero}}}> {{
        q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  t = Transpose (d)
        u = QuantizeLinear (t, s, z)  y = DequantizeLinear (u, s, z) }}""",
        21,
    )
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    for target in (20, 13, 11):
        proto = convert_version(source, target).model
        np.testing.assert_allclose(run(proto, {"x": x}, OPTIMIZED)[0], x.T, atol=0.0006)


def test_blocks_of_signed_integers_that_become_rows() -> None:
    """The rows are reshaped, so that onnxruntime would quantize them to uint8 without a zero point."""
    source = model(
        """g (float[16,1] unused) => (float[16,1] y, float[16,1] same) <int8[1,16] x = {-8,-7,-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6,7},
        float[1,1] s = {0.5}> { d = DequantizeLinear <axis = 1, block_size = 16> (x, s)  y = Transpose (d)  same = Abs (unused) }""",
        21,
    )
    for target in (20, 13, 11):
        result = convert_version(source, target).model
        (y, _) = run(result, {"unused": np.zeros((16, 1), np.float32)}, OPTIMIZED)
        np.testing.assert_array_equal(y, np.arange(-8, 8, dtype=np.float32).reshape(16, 1) / 2)


def test_weights_keep_their_zero_point() -> None:
    """onnxruntime makes products of integers of them."""
    source = model(
        """g (float[2,3,4] x) => (float[2,3,2] y) <float s = {0.1}, uint8 z = {5}, int8[4,2] w = {1,2,3,4,5,6,7,8}, int8 o = {0},
        float[2] b = {1,2}> { q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)  v = DequantizeLinear (w, s, o)
        m = MatMul (d, v)  a = Add (m, b)  e = QuantizeLinear (a, s, z)  y = DequantizeLinear (e, s, z) }""",
        20,
    )
    result = convert_version(source, 21).model
    assert [list(node.input) for node in result.graph.node] == [list(node.input) for node in source.graph.node]


@pytest.mark.parametrize(
    ("nodes", "target"),
    [
        ("y = GroupNormalization <num_groups = 2> (d, one, zero)", 20),
        ("y = GroupNormalization <num_groups = 2> (d, one, zero)", 17),
        ("y = Softmax <axis = 1> (d)", 12),
        ("y = LogSoftmax <axis = 2> (d)", 12),
    ],
)
def test_signed_integers_that_a_later_step_moves(nodes: str, target: int) -> None:
    source = model(
        f"""g (int8[2,4,3] x) => (float[2,4,3] y) <float s = {{0.1}}, float[4] one = {{1,1,1,1}}, float[4] zero = {{0,0,0,0}}> {{
        d = DequantizeLinear (x, s)  {nodes} }}""",
        21,
    )
    x = np.arange(-12, 12, dtype=np.int8).reshape(2, 4, 3)
    result = convert_version(source, target).model
    np.testing.assert_allclose(run(result, {"x": x}, OPTIMIZED)[0], run(source, {"x": x})[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("indices", ["i", "j"])
def test_rows_of_stored_integers(indices: str) -> None:
    """Which rows these are is known, or depends on an input."""
    source = model(
        f"""g (int64[2] i) => (float[2,2] y) <int8[3,2] w = {{1,-2,3,-4,5,-6}}, float s = {{0.1}}, int64[2] j = {{0,2}}> {{
        r = Gather (w, {indices})  d = DequantizeLinear (r, s)  y = Transpose (d) }}""",
        21,
    )
    i = np.array([0, 2])
    result = convert_version(source, 20).model
    np.testing.assert_allclose(run(result, {"i": i}, OPTIMIZED)[0], run(source, {"i": i})[0], rtol=1e-5)
    stated = [len(node.input) for node in result.graph.node if node.op_type == "DequantizeLinear"]
    assert stated == [3 if indices == "i" else 2]


@pytest.mark.parametrize(("before", "after"), [(21, 20), (20, 21)])
def test_integers_that_callers_may_override_are_not_stored(before: int, after: int) -> None:
    zero = ", z" if before == 20 else ""
    source = model(
        f"""g (int8[2,2] x, float[2,2] u) => (float[2,2] y) <int8[2,2] x = {{1,-2,3,-4}}, float s = {{0.1}}, int8 z = {{3}}> {{
        d = DequantizeLinear (x, s{zero})  t = Transpose (d)  y = Add (t, u) }}""",
        before,
    )
    u = np.zeros((2, 2), np.float32)
    result = convert_version(source, after).model
    np.testing.assert_allclose(run(result, {"u": u}, OPTIMIZED)[0], run(source, {"u": u})[0], rtol=1e-5)
