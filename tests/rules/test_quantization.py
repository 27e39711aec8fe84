"""QuantizeLinear and DequantizeLinear: scales per axis and block, types that differ."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

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
        quantize(23, "float[4,6]", "float16", None),
        22,
        "'x' is float and divided as float16, which is new in opset 23",
        id="x would be rounded",
        marks=SINCE_23,
    ),
    pytest.param(
        dequantize(23, scale="float", zero=None, y="float16[4,6]", attributes="output_dtype=10"),
        22,
        "the scale is float and the output float16",
        id="the scale would be rounded",
        marks=SINCE_23,
    ),
    pytest.param(
        quantize(21, scale="float[N]", zero=None, y="int8[4,6]", attributes="output_dtype=3"),
        20,
        "of 's' is not fully known",
        id="a zero point of unknown length",
    ),
    pytest.param(
        quantize(21, x="float[4,N]", scale="float[4,3]", zero=None, y="uint8[4,N]", attributes="axis=1, block_size=2"),
        20,
        "'N' of 'x' is unknown",
        id="blocks of an unknown length",
    ),
    pytest.param(
        model("g (uint8[2,3,8] x) => (float[2,3,8] y) <float[3] s = {1, 2, 3}> { y = DequantizeLinear (x, s) }", 10),
        9,
        "the shape of its scale is [3], and below opset 13 it has a single one",
        id="several scales where there is one",
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


@pytest.mark.parametrize("target", [20, 13, 11])
@pytest.mark.parametrize("axis, block, shape", [(1, 4, (4, 2)), (1, 3, (4, 2)), (0, 2, (2, 6)), (-1, 6, (4, 1))])
def test_blocks_are_written_out(axis, block, shape, target):
    scale = np.random.default_rng(2).uniform(0.5, 2, shape).astype(np.float32)
    zero = np.random.default_rng(3).integers(-5, 5, shape).astype(np.int8)
    sizes = f"[{shape[0]},{shape[1]}]"
    attributes = f"axis={axis}, block_size={block}"
    down = quantize(21, scale=f"float{sizes}", zero=f"int8{sizes}", y="int8[4,6]", attributes=attributes)
    got = run(convert_version(down, target).model, {"x": X, "s": scale, "z": zero})[0]
    np.testing.assert_array_equal(got, quantized(X, scale, zero, np.int8, axis % 2, block))
    back = dequantize(21, x="int8[4,6]", scale=f"float{sizes}", zero=f"int8{sizes}", attributes=attributes)
    feeds = {"x": got, "s": scale, "z": zero}
    np.testing.assert_array_equal(
        run(convert_version(back, target).model, feeds)[0], dequantized(got, scale, zero, axis % 2, block)
    )


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


@SINCE_23
@pytest.mark.parametrize(
    "x, scale, precision", [("float16", "float", ""), ("float16", "float16", "precision=1"), ("int32", "float", "")]
)
def test_types_that_differ_are_divided_in_the_wider(x, scale, precision):
    """No runtime at hand takes the original: the quotient of the page, in float32."""
    dtype = {"float16": np.float16, "int32": np.int32}[x]
    data, step = X.astype(dtype), np.array(0.3, KINDS[scale])
    result = convert_version(quantize(23, f"{x}[4,6]", scale, "uint8", attributes=precision), 21).model
    got = run(result, {"x": data, "s": step, "z": np.array(9, np.uint8)})[0]
    np.testing.assert_array_equal(got, quantized(data.astype(np.float32), step.astype(np.float32), 9, np.uint8))


@SINCE_23
def test_a_wider_output_is_multiplied_in_its_own_type():
    x, scale = np.arange(24, dtype=np.uint8).reshape(4, 6), np.array(0.3, np.float16)
    proto = dequantize(23, scale="float16", attributes="output_dtype=1")
    got = run(convert_version(proto, 21).model, {"x": x, "s": scale, "z": np.array(9, np.uint8)})[0]
    np.testing.assert_array_equal(got, dequantized(x, scale.astype(np.float32), np.array(9)))


def test_up_integers_are_divided_as_floats():
    data = np.arange(-12, 12, dtype=np.int32).reshape(4, 6)
    proto = quantize(13, "int32[4,6]")
    got = run(convert_version(proto, 21).model, {"x": data, "s": np.array(0.7, np.float32), "z": np.array(9, np.uint8)})[0]
    np.testing.assert_array_equal(got, quantized(data.astype(np.float32), np.float32(0.7), 9, np.uint8))


@pytest.mark.parametrize("target", [18, 13, 11])
def test_half_precision_below_19(target):
    data, scale, zero = X.astype(np.float16), np.array(0.3, np.float16), np.array(9, np.uint8)
    down = convert_version(quantize(19, "float16[4,6]", "float16"), target).model
    got = run(down, {"x": data, "s": scale, "z": zero})[0]
    np.testing.assert_array_equal(got, quantized(data, scale, zero, np.uint8))
    back = convert_version(dequantize(19, scale="float16", y="float16[4,6]"), target).model
    np.testing.assert_array_equal(run(back, {"x": got, "s": scale, "z": zero})[0], dequantized(got, scale, zero))


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


def test_refuses_an_axis_that_there_is_not() -> None:
    text = "g (float[2,3] x, float[2] s, uint8[2] z) => (uint8[2,3] y) {y = QuantizeLinear<axis = -9223372036854775808>(x, s, z)}"
    assert "is out of range for rank 2" in refusal(model(text, 16), 12)


REWRITES = [
    (
        "quantization.quantize_blocks",
        21,
        20,
        "g (float[2] x, float s) => (int8[2] y) { y = QuantizeLinear <output_dtype = 3> (x, s) }",
        "<int8 v1 = {0}> { y = QuantizeLinear (x, s, v1) }",
    ),
    (
        "quantization.cast_to_type_of_scale",
        18,
        19,
        "g (int32[2] x, float s) => (uint8[2] y) { y = QuantizeLinear (x, s) }",
        "{ v1 = Cast <to = 1> (x) y = QuantizeLinear (v1, s) }",
    ),
    (
        "quantization.subtract_and_scale",
        10,
        9,
        "g (uint8[2] x, float s, uint8 z) => (float[2] y) { y = DequantizeLinear (x, s, z) }",
        "{ v1 = Cast <to = 6> (x) v2 = Cast <to = 6> (z) v3 = Sub (v1, v2) v4 = Cast <to = 1> (v3) y = Mul (v4, s) }",
    ),
    (
        "quantization.dequantize_along_axis",
        13,
        12,
        "g (uint8[2,3] x, float[3] s, uint8[3] z) => (float[2,3] y) { y = DequantizeLinear (x, s, z) }",
        """
            {
              data = Cast <to = 6> (x)
              zero_point = Cast <to = 6> (z)
              difference = Sub (data, zero_point)
              difference_2 = Cast <to = 1> (difference)
              y = Mul (difference_2, s)
            }
        """,
    ),
    (
        "quantization.dequantize_blocks",
        21,
        20,
        "g (uint8[4] x, float[2] s) => (float[4] y) { y = DequantizeLinear <axis = 0, block_size = 2> (x, s) }",
        """
            <int64[4] block = {0, 0, 1, 1}>
            {
              each = Gather <axis = 0> (s, block)
              difference = Cast <to = 1> (x)
              y = Mul (difference, each)
            }
        """,
    ),
    (
        "quantization.dequantize_half_precision",
        19,
        18,
        "g (uint8[4] x, float16 s) => (float16[4] y) { y = DequantizeLinear (x, s) }",
        """
            {
              difference = Cast <to = 1> (x)
              scale = Cast <to = 1> (s)
              product = Mul (difference, scale)
              y = Cast <to = 10> (product)
            }
        """,
    ),
    (
        "quantization.divide_in_one_type",
        23,
        22,
        "g (float16[4] x, float s) => (uint8[4] y) { y = QuantizeLinear (x, s) }",
        "{ precision = Cast <to = 1> (x) y = QuantizeLinear (precision, s) }",
    ),
    (
        "quantization.multiply_in_output_type",
        23,
        22,
        "g (uint8[4] x, float16 s) => (float[4] y) { y = DequantizeLinear <output_dtype = 1> (x, s) }",
        "{ scale = Cast <to = 1> (s) y = DequantizeLinear (x, scale) }",
    ),
    (
        "quantization.quantize_along_axis",
        13,
        12,
        "g (float[2,3] x, float[3] s, uint8[3] z) => (uint8[2,3] y) { y = QuantizeLinear (x, s, z) }",
        """
            <float bound = {0}, float bound_2 = {255}>
            {
              quotient = Div (x, s)
              rounded = Round (quotient)
              zero_point = Cast <to = 1> (z)
              shifted = Add (rounded, zero_point)
              saturated = Clip (shifted, bound, bound_2)
              y = Cast <to = 2> (saturated)
            }
        """,
    ),
    (
        "quantization.quantize_by_extremes",
        11,
        10,
        "g (float[3] x) => (uint8[3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }",
        """
            <float bound = {0}, float bound_2 = {255}, float y_steps_2_c0 = {0.5}, float steps_2_c2 = {2},
             float steps_2_c1 = {1}>
            {
              min = ReduceMin <keepdims = 0> (x)
              low = Min (min, bound)
              max = ReduceMax <keepdims = 0> (x)
              high = Max (max, bound)
              extent = Sub (high, low)
              is_some = Greater (extent, bound)
              is_zero = Not (is_some)
              is_zero_2 = Cast <to = 1> (is_zero)
              filler = Mul (is_zero_2, bound_2)
              extent_2 = Add (extent, filler)
              s = Div (extent_2, bound_2)
              steps = Div (low, s)
              neg = Neg (steps)
              steps_2_magnitude = Abs (neg)
              steps_2_floor = Floor (steps_2_magnitude)
              steps_2_rest = Sub (steps_2_magnitude, steps_2_floor)
              steps_2_halved = Mul (steps_2_floor, y_steps_2_c0)
              steps_2_pairs = Floor (steps_2_halved)
              steps_2_odd = Sub (steps_2_halved, steps_2_pairs)
              steps_2_above = Greater (steps_2_rest, y_steps_2_c0)
              steps_2_below = Less (steps_2_rest, y_steps_2_c0)
              steps_2_off = Or (steps_2_above, steps_2_below)
              steps_2_at_half = Not (steps_2_off)
              steps_2_is_odd = Greater (steps_2_odd, bound)
              steps_2_to_even = And (steps_2_at_half, steps_2_is_odd)
              steps_2_up = Or (steps_2_above, steps_2_to_even)
              steps_2_step = Cast <to = 1> (steps_2_up)
              steps_2_rounded = Add (steps_2_floor, steps_2_step)
              steps_2_negative = Less (neg, bound)
              steps_2_negative_2 = Cast <to = 1> (steps_2_negative)
              steps_2_twice = Mul (steps_2_negative_2, steps_2_c2)
              steps_2_sign = Sub (steps_2_c1, steps_2_twice)
              steps_2 = Mul (steps_2_rounded, steps_2_sign)
              point = Clip <max = 255.0, min = 0.0> (steps_2)
              z = Cast <to = 2> (point)
              y = QuantizeLinear (x, s, z)
            }
        """,
    ),
    (
        "quantization.quantize_half_precision",
        19,
        18,
        "g (float16[4] x, float16 s, uint8 z) => (uint8[4] y) { y = QuantizeLinear (x, s, z) }",
        """
            <float bound = {0}, float bound_2 = {255}>
            {
              quotient = Div (x, s)
              rounded = Round (quotient)
              rounded_2 = Cast <to = 1> (rounded)
              zero_point = Cast <to = 1> (z)
              shifted = Add (rounded_2, zero_point)
              saturated = Clip (shifted, bound, bound_2)
              y = Cast <to = 2> (saturated)
            }
        """,
    ),
    (
        "quantization.round_and_clip",
        11,
        9,
        "g (float[2] x, float s, uint8 z) => (uint8[2] y) { y = QuantizeLinear (x, s, z) }",
        """
            <float y_steps_c0 = {0.5}, float bound = {0}, float steps_c2 = {2}, float steps_c1 = {1}>
            {
              scaled = Div (x, s)
              steps_magnitude = Abs (scaled)
              steps_floor = Floor (steps_magnitude)
              steps_rest = Sub (steps_magnitude, steps_floor)
              steps_halved = Mul (steps_floor, y_steps_c0)
              steps_pairs = Floor (steps_halved)
              steps_odd = Sub (steps_halved, steps_pairs)
              steps_above = Greater (steps_rest, y_steps_c0)
              steps_below = Less (steps_rest, y_steps_c0)
              steps_off = Or (steps_above, steps_below)
              steps_at_half = Not (steps_off)
              steps_is_odd = Greater (steps_odd, bound)
              steps_to_even = And (steps_at_half, steps_is_odd)
              steps_up = Or (steps_above, steps_to_even)
              steps_step = Cast <to = 1> (steps_up)
              steps_rounded = Add (steps_floor, steps_step)
              steps_negative = Less (scaled, bound)
              steps_negative_2 = Cast <to = 1> (steps_negative)
              steps_twice = Mul (steps_negative_2, steps_c2)
              steps_sign = Sub (steps_c1, steps_twice)
              steps = Mul (steps_rounded, steps_sign)
              zero_point = Cast <to = 1> (z)
              shifted = Add (steps, zero_point)
              clipped = Clip <max = 255.0, min = 0.0> (shifted)
              y = Cast <to = 2> (clipped)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
