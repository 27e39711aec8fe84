"""Einsum, DFT, Col2Im, AffineGrid, DeformConv and products of quantized numbers: sums of products, in another order."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, model, refusal, run

RNG = np.random.default_rng(11)


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            'g (float[N,N] x) => (float[N] y) { y = Einsum <equation="ii->i"> (x) }',
            12,
            11,
            "the diagonal 'i' of 'x'",
            id="diagonal",
        ),
        pytest.param("g (float[2,N,1] x) => (float[2,N,2] y) { y = DFT <axis=1> (x) }", 17, 16, "axis dimension 'N'", id="length"),
        pytest.param(
            "g (float[1,4,4] x, int64[N] i, int64[N] b) => (float[1,1,3,3] y) { y = Col2Im (x, i, b) }",
            18,
            17,
            "the axis dimension 'N' of 'i'",
            id="image",
        ),
        pytest.param(
            "g (float[1,2,3] t, int64[4] s) => (float[1,A,B,2] y) { y = AffineGrid (t, s) }",
            20,
            19,
            "'s' is computed at run time",
            id="grid",
        ),
        pytest.param(
            "g (float[1,2,3] t) => (float[1,1,4,2] y) <int64[4] s = {1, 1, 1, 4}> { y = AffineGrid <align_corners=1> (t, s) }",
            20,
            19,
            "the position of a single pixel is not defined",
            id="one pixel",
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (2, 5, 3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("i,i->", [(3,), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->i", [(2, 3)]),
        ("ij", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("abc,cd->ad", [(2, 3, 4), (4, 5)]),
        ("ab,cd->", [(2, 3), (4, 5)]),
        ("i j , j k -> k i", [(2, 3), (3, 4)]),
    ],
)
@pytest.mark.parametrize("target", [11, 7])
def test_einsum(equation, shapes, target):
    operands = [RNG.normal(size=shape).astype(np.float32) for shape in shapes]
    expected = np.einsum(equation.replace(" ", ""), *[x.astype(np.float64) for x in operands])
    given = dict(zip("xyz", operands, strict=False))
    signature = ", ".join(f"float[{','.join(map(str, x.shape))}] {name}" for name, x in given.items())
    rank = f"[{','.join('ABCD'[: expected.ndim])}]" if expected.ndim else ""
    text = f'g ({signature}) => (float{rank} o) {{ o = Einsum <equation="{equation}"> ({", ".join(given)}) }}'
    got = run(convert_version(model(text, 12), target).model, given)[0]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_einsum_of_symbolic_shapes():
    text = 'g (float[B,Q,H,D] x, float[B,K,H,D] y) => (float[B,H,Q,K] o) { o = Einsum <equation="bqhd,bkhd->bhqk"> (x, y) }'
    given = {"x": RNG.random((2, 4, 3, 5), np.float32), "y": RNG.random((2, 6, 3, 5), np.float32)}
    assert_same(model(text, 12), 9, given, rtol=1e-6)


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [None, 3, 8])
@pytest.mark.parametrize("axis", [1, 2])
def test_dft(inverse, parts, length, axis):
    size, n = (5, 4)[axis - 1], length or (5, 4)[axis - 1]
    dims = [2, 5, 4]
    dims[axis] = n
    operand = "" if length is None else ", l"
    text = (
        f"g (float[2,5,4,{parts}] x) => (float[{','.join(map(str, dims))},2] y) <int64 l = {{{n}}}> "
        f"{{ y = DFT <axis={axis}, inverse={inverse}> (x{operand}) }}"
    )
    x = RNG.normal(size=(2, 5, 4, parts)).astype(np.float32)
    signal = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    expected = (np.fft.ifft if inverse else np.fft.fft)(signal, n, axis)
    got = run(convert_version(model(text, 17), 13).model, {"x": x})[0]
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], expected, rtol=1e-5, atol=1e-5)
    assert size in x.shape


def test_one_sided_dft():
    text = "g (float[2,8,1] x) => (float[2,5,2] y) { y = DFT <onesided=1> (x) }"
    x = RNG.normal(size=(2, 8, 1)).astype(np.float32)
    got = run(convert_version(model(text, 17), 13).model, {"x": x})[0]
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], np.fft.rfft(x[..., 0], axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("strides, pads, dilations", [([1, 1], [0] * 4, [1, 1]), ([2, 1], [1, 0, 1, 1], [1, 2])])
def test_col2im(strides, pads, dilations):
    """An infinity stays in the pixels that it belongs to."""
    image, block = [5, 6], [2, 2]
    steps = [(image[d] + pads[d] + pads[d + 2] - dilations[d] * (block[d] - 1) - 1) // strides[d] + 1 for d in range(2)]
    text = (
        f"g (float[2,12,{steps[0] * steps[1]}] x) => (float[2,3,5,6] y) <int64[2] i = {{5, 6}}, int64[2] b = {{2, 2}}> "
        f"{{ y = Col2Im <strides={strides}, pads={pads}, dilations={dilations}> (x, i, b) }}"
    )
    x = RNG.normal(size=(2, 12, steps[0] * steps[1])).astype(np.float32)
    x[0, 0, 0] = np.inf
    assert_same(model(text, 18), 11, {"x": x}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", [17, 9, 7])
@pytest.mark.parametrize(
    "known", ["int64[2] b = {2, 3}", "int64[2] i = {5, 6}", "int64 unused = {0}"], ids=["block", "image", "none"]
)
@pytest.mark.parametrize(
    "attributes", ["", "<strides = [2, 1]>", "<pads = [1, 0, 0, 2]>", "<dilations = [2, 1], strides = [2, 3], pads = [0, 1, 1, 1]>"]
)
def test_col2im_at_run_time(attributes, known, target):
    inputs = ", ".join(f"int64[2] {name}" for name in "ib" if f" {name} " not in known)
    proto = model(f"g (float[N,C,L] x, {inputs}) => (float[A,B,H,W] y) <{known}> {{ y = Col2Im {attributes} (x, i, b) }}", 18)
    columns = {"": 16, "<s": 8, "<p": 30, "<d": 4}[attributes[:2]]
    feeds = {"x": RNG.normal(size=(2, 12, columns)).astype(np.float32), "i": np.array([5, 6]), "b": np.array([2, 3])}
    feeds["x"][0, 0, 0] = np.inf
    feeds = {name: value for name, value in feeds.items() if f" {name} " not in known}
    assert_same(proto, target, feeds, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_affine_grid(align_corners):
    text = (
        f"g (float[2,2,3] t) => (float[2,4,5,2] y) <int64[4] s = {{2, 3, 4, 5}}> "
        f"{{ y = AffineGrid <align_corners={align_corners}> (t, s) }}"
    )
    assert_same(model(text, 20), 11, {"t": RNG.normal(size=(2, 2, 3)).astype(np.float32)}, rtol=1e-5, atol=1e-6)


def test_affine_grid_of_one_image_in_three_dimensions():
    text = "g (float[1,3,4] t) => (float[1,2,3,4,3] y) <int64[5] s = {1, 1, 2, 3, 4}> { y = AffineGrid (t, s) }"
    assert_same(model(text, 20), 13, {"t": RNG.normal(size=(1, 3, 4)).astype(np.float32)}, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask, groups, offset_groups", [("", 1, 1), (", m", 2, 1), (", m", 1, 2), (", m", 2, 2)])
def test_deform_conv(mask, groups, offset_groups):
    text = (
        f"g (float[2,4,5,6] x, float[6,{4 // groups},2,2] w, float[2,{offset_groups * 8},4,5] o, float[6] b, "
        f"float[2,{offset_groups * 4},4,5] m) => (float[2,6,4,5] y) "
        f"{{ y = DeformConv <group={groups}, offset_group={offset_groups}> (x, w, o, b{mask}) }}"
    )
    proto = model(text, 19)
    given = {
        value.name: RNG.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in proto.graph.input
    }
    assert_same(proto, 16, given, rtol=1e-4, atol=1e-4)


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
