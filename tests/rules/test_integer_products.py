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


@pytest.mark.parametrize("target", [9, 7])
@pytest.mark.parametrize("rows, inner", [(3, 258), (3, 259), (None, 300)])
def test_products_are_added_exactly(rows, inner, target):
    """The largest numbers, as many as float adds exactly, and more; their number may be known of the right matrix only."""
    left = f"{rows},{inner}" if rows else "N,K"
    text = f"g (uint8[{left}] a, uint8[{inner},2] b) => (int32[N,2] y) {{ y = MatMulInteger (a, b) }}"
    a, b = np.full((3, inner), 255, np.uint8), np.full((inner, 2), 255, np.uint8)
    assert_same(model(text, 10), target, {"a": a, "b": b - np.uint8(1)})


@pytest.mark.parametrize("a, b", [((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (2, 4, 5))])
def test_vectors_and_batches(a, b):
    """A zero point that is a vector of one does not give the product of vectors another rank."""
    left, right = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in (a, b))
    expected = (left.astype(np.int64) - 7) @ right.astype(np.int64)
    text = f"g (uint8{[*a]} a, uint8{[*b]} b, uint8[1] p) => (int32{[*expected.shape]} y) {{ y = MatMulInteger (a, b, p) }}"
    result = run(convert_version(model(text, 10), 9).model, {"a": left, "b": right, "p": np.array([7], np.uint8)})[0]
    np.testing.assert_array_equal(result, expected)


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


ROUNDED = """n1 = Ceil (n) n2 = Sub (n1, n) n3 = Greater (n2, half) n4 = Less (n2, half) n5 = Not (n4) n6 = Mul (n1, half)
    n7 = Floor (n6) n8 = Sub (n6, n7) n9 = Greater (n8, none) n10 = And (n5, n9) n11 = Or (n3, n10) n12 = Cast <to = 1> (n11)
    r = Sub (n1, n12)"""
"""What Round is below opset 11."""
NUMBERS = "float half = {0.5}, float none = {0}"

REWRITES = [
    (
        "integer_products.matmul_of_differences",
        10,
        9,
        "g (uint8[2,3] a, uint8[3,4] b) => (int32[2,4] y) { y = MatMulInteger (a, b) }",
        "{ v1 = Cast <to = 1> (a) v2 = Cast <to = 1> (b) v3 = MatMul (v1, v2) y = Cast <to = 6> (v3) }",
    ),
    (
        "integer_products.conv_of_differences",
        10,
        9,
        "g (uint8[1,2,4,4] x, uint8[3,2,3,3] w) => (int32[1,3,4,4] y) <uint8 p = {7}> { y = ConvInteger <pads = [1,1,1,1]> (x, w, p) }",
        """<float q = {7}>
        { v1 = Cast <to = 1> (x) v2 = Sub (v1, q) v3 = Cast <to = 1> (w) v4 = Conv <pads = [1,1,1,1]> (v2, v3) y = Cast <to = 6> (v4) }""",
    ),
    (
        "integer_products.matmul_then_quantize",
        10,
        9,
        """g (uint8[2,3] a, int8[3,4] b) => (uint8[2,4] y) <float s = {0.5}, uint8 p = {120}, float t = {0.25}, int8 q = {0}, float u = {2},
        uint8 r = {128}> { y = QLinearMatMul (a, s, p, b, t, q, u, r) }""",
        f"""<float p = {{120}}, float t = {{0.0625}}, {NUMBERS}, float z = {{128}}>
        {{ v1 = Cast <to = 1> (a) v2 = Sub (v1, p) v3 = Cast <to = 1> (b) v4 = MatMul (v2, v3) n = Mul (v4, t) {ROUNDED}
          v5 = Add (r, z) v6 = Clip <max = 255.0, min = 0.0> (v5) y = Cast <to = 2> (v6) }}""",
    ),
    (
        "integer_products.convolve_then_quantize",
        10,
        9,
        """g (uint8[1,1,3,3] x, int8[2,1,2,2] w) => (uint8[1,2,2,2] y) <float s = {0.5}, uint8 p = {120}, float[2] t = {0.25, 0.5},
        int8[2] q = {0, 0}, float u = {2}, uint8 r = {0}, int32[2] b = {5,6}> { y = QLinearConv (x, s, p, w, t, q, u, r, b) }""",
        f"""<float p = {{120}}, int32[1,2,1,1] b = {{5, 6}}, float[1,2,1,1] t = {{0.0625, 0.125}}, {NUMBERS}>
        {{ v1 = Cast <to = 1> (x) v2 = Sub (v1, p) v3 = Cast <to = 1> (w) v4 = Conv (v2, v3) v5 = Cast <to = 6> (v4) v6 = Add (v5, b)
          v7 = Cast <to = 1> (v6) n = Mul (v7, t) {ROUNDED} v8 = Clip <max = 255.0, min = 0.0> (r) y = Cast <to = 2> (v8) }}""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
