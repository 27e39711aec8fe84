"""Quantized convolutions below opset 10, to the last bit of onnxruntime's own, and of the exact sums."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(11)


def integer(channels: int, kernel: int, x: str = "uint8", w: str = "uint8") -> str:
    return (
        f"g ({x}[1,{channels},{kernel + 1},{kernel}] x, {w}[2,{channels},{kernel},{kernel}] w) => (int32[1,2,2,1] y) "
        f"<{x} p = {{3}}, {w} q = {{7}}> {{ y = ConvInteger (x, w, p, q) }}"
    )


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param(integer(3670, 3), "sums of 33030 products may overflow int32", id="wraps"),
        pytest.param(
            "g (uint8[1,N,3,3] x, uint8[2,N,3,3] w) => (int32[1,2,1,1] y) { y = ConvInteger (x, w) }",
            "the shape (2, N, 3, 3) of 'w' is not fully known",
            id="how many products are added",
        ),
    ],
)
def test_refused(text, reason):
    assert reason in refusal(model(text, 10), 9)


@pytest.mark.parametrize("target", [9, 7])
@pytest.mark.parametrize("channels, kernel", [(28, 3), (29, 3), (487, 3), (488, 3), (3669, 3)])
@pytest.mark.parametrize("x_kind, w_kind", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
def test_sums_of_any_length(channels, kernel, x_kind, w_kind, target):
    """The numbers that make the largest sums; and some by chance."""
    result = convert_version(model(integer(channels, kernel, x_kind, w_kind), 10), target).model
    rng, edges = np.random.default_rng(4), [np.iinfo(kind) for kind in (x_kind, w_kind)]
    shapes = (1, channels, kernel + 1, kernel), (2, channels, kernel, kernel)
    for choose in ("max", "min", "chance"):
        x, w = (
            rng.integers(info.min, info.max, shape, info.dtype, endpoint=True)
            if choose == "chance"
            else np.full(shape, getattr(info, choose), info.dtype)
            for info, shape in zip(edges, shapes, strict=True)
        )
        wide_x, wide_w = x.astype(np.int64) - 3, w.astype(np.int64) - 7
        expected = [[[(wide_x[0, :, row : row + kernel] * wide_w[out]).sum()] for row in range(2)] for out in range(2)]
        np.testing.assert_array_equal(run(result, {"x": x, "w": w})[0], [expected])


@pytest.mark.parametrize("bias", ["", ", b"])
@pytest.mark.parametrize("target", [9, 7])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_convolution(per_channel, target, bias):
    scales, zeros = (
        ("float[4] t = {0.01, 0.02, 0.005, 0.03}", "int8[4] q = {0, 0, 0, 0}")
        if per_channel
        else ("float t = {0.01}", "int8 q = {0}")
    )
    text = (
        f"g (uint8[2,6,7,8] x, int8[4,3,2,3] w, int32[4] b) => (uint8[2,4,3,8] y) <float s = {{0.03}}, uint8 p = {{120}}, {scales}, {zeros}, "
        f"float u = {{0.11}}, uint8 r = {{100}}> {{ y = QLinearConv <group=2, strides=[2,1], pads=[0,1,0,1]> (x, s, p, w, t, q, u, r{bias}) }}"
    )
    rng = np.random.default_rng(6)
    given = {
        "x": rng.integers(0, 256, (2, 6, 7, 8)).astype(np.uint8),
        "w": rng.integers(-128, 128, (4, 3, 2, 3)).astype(np.int8),
        "b": rng.integers(-3000, 3000, 4).astype(np.int32),
    }
    assert_same(model(text, 10), target, given)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
@pytest.mark.parametrize("target", [9, 7])
def test_matmul_integer(kind, target):
    text = (
        f"g ({kind}[3,4] a, {kind}[4,5] b) => (int32[3,5] y) <{kind} p = {{5}}, {kind}[5] q = {{1, 2, 3, 4, 5}}> "
        "{ y = MatMulInteger (a, b, p, q) }"
    )
    info = np.iinfo(kind)
    a, b = (RNG.integers(info.min, info.max + 1, size=shape).astype(kind) for shape in ((3, 4), (4, 5)))
    expected = (a.astype(np.int64) - 5) @ (b.astype(np.int64) - np.arange(1, 6))
    np.testing.assert_array_equal(run(convert_version(model(text, 10), target).model, {"a": a, "b": b})[0], expected)


def test_conv_integer_pads_with_the_zero_point():
    text = (
        "g (uint8[1,2,4,4] x, uint8[3,2,3,3] w) => (int32[1,3,4,4] y) <uint8 p = {7}, uint8 q = {3}> "
        "{ y = ConvInteger <pads=[1,1,1,1]> (x, w, p, q) }"
    )
    given = {"x": RNG.integers(0, 256, (1, 2, 4, 4)).astype(np.uint8), "w": RNG.integers(0, 256, (3, 2, 3, 3)).astype(np.uint8)}
    assert_same(model(text, 10), 9, given)


def test_quantized_matmul():
    text = (
        "g (uint8[3,4] a, uint8[4,5] b) => (uint8[3,5] y) <float s = {0.02}, uint8 p = {120}, float t = {0.03}, uint8 q = {99}, "
        "float u = {0.5}, uint8 r = {128}> { y = QLinearMatMul (a, s, p, b, t, q, u, r) }"
    )
    given = {"a": RNG.integers(0, 256, (3, 4)).astype(np.uint8), "b": RNG.integers(0, 256, (4, 5)).astype(np.uint8)}
    assert_same(model(text, 10), 9, given)


REWRITES = [
    (
        "integer_products.matmul_of_differences",
        10,
        9,
        "g (uint8[2,3] a, uint8[3,4] b) => (int32[2,4] y) { y = MatMulInteger (a, b) }",
        """
            {
              double = Cast <to = 11> (a)
              double_2 = Cast <to = 11> (b)
              product = MatMul (double, double_2)
              y = Cast <to = 6> (product)
            }
        """,
    ),
    (
        "integer_products.conv_of_differences",
        10,
        9,
        "g (uint8[1,1,4] x, uint8[1,1,2] w, uint8 z) => (int32[1,1,3] y) { y = ConvInteger (x, w, z) }",
        """
            {
              wide = Cast <to = 6> (x)
              zero = Cast <to = 6> (z)
              shifted = Sub (wide, zero)
              float = Cast <to = 1> (shifted)
              float_2 = Cast <to = 1> (w)
              product = Conv (float, float_2)
              y = Cast <to = 6> (product)
            }
        """,
    ),
    (
        "integer_products.convolve_then_quantize",
        10,
        9,
        "g (uint8[1,1,4] x, uint8[1,1,2] w, float a, uint8 b, float c, uint8 d, float e, uint8 f) => (uint8[1,1,3] y) { y = QLinearConv (x, a, b, w, c, d, e, f) }",
        """
            <float y_steps_c0 = {0.5}, float bound = {0}, float steps_c2 = {2}, float steps_c1 = {1}>
            {
              wide = Cast <to = 6> (x)
              zero = Cast <to = 6> (b)
              shifted = Sub (wide, zero)
              wide_2 = Cast <to = 6> (w)
              zero_2 = Cast <to = 6> (d)
              shifted_2 = Sub (wide_2, zero_2)
              float = Cast <to = 1> (shifted)
              float_2 = Cast <to = 1> (shifted_2)
              product = Conv (float, float_2)
              scales = Mul (a, c)
              scale = Div (scales, e)
              scaled = Mul (product, scale)
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
              y_zero = Cast <to = 1> (f)
              moved = Add (steps, y_zero)
              clipped = Clip <max = 255.0, min = 0.0> (moved)
              y = Cast <to = 2> (clipped)
            }
        """,
    ),
    (
        "integer_products.matmul_then_quantize",
        10,
        9,
        "g (uint8[2,3] x, uint8[3,4] w, float a, uint8 b, float c, uint8 d, float e, uint8 f) => (uint8[2,4] y) { y = QLinearMatMul (x, a, b, w, c, d, e, f) }",
        """
            <float y_steps_c0 = {0.5}, float bound = {0}, float steps_c2 = {2}, float steps_c1 = {1}>
            {
              wide = Cast <to = 6> (x)
              zero = Cast <to = 6> (b)
              shifted = Sub (wide, zero)
              wide_2 = Cast <to = 6> (w)
              zero_2 = Cast <to = 6> (d)
              shifted_2 = Sub (wide_2, zero_2)
              double = Cast <to = 11> (shifted)
              double_2 = Cast <to = 11> (shifted_2)
              product = MatMul (double, double_2)
              float = Cast <to = 1> (product)
              scales = Mul (a, c)
              scale = Div (scales, e)
              scaled = Mul (float, scale)
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
              y_zero = Cast <to = 1> (f)
              moved = Add (steps, y_zero)
              clipped = Clip <max = 255.0, min = 0.0> (moved)
              y = Cast <to = 2> (clipped)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
