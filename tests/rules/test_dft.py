"""DFT: the axis between attribute and input, with its default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance
from split_rewrite.rewriter.execution.model_client import Worker

RNG = np.random.default_rng(11)


X = np.random.default_rng(0).standard_normal((2, 4, 6, 1)).astype(np.float32)


@pytest.mark.parametrize(
    ("attributes", "operands", "out"),
    [
        pytest.param("<onesided = 1>", "x, , a", "A, B, C, 2", id="the result could have two shapes"),
        pytest.param("", "x, n, a", "2, B, C, 2", id="of a length that is given"),
        pytest.param("<onesided = 1>", "x, , a", "2, 4, 6, 2", id="the shape fits no axis"),
    ],
)
def test_a_computed_axis_is_refused(attributes: str, operands: str, out: str) -> None:
    text = f"g (float[2, 4, 6, 1] x, int64 a, int64 n) => (float[{out}] y) {{ z = DFT {attributes} ({operands}) y = Identity (z) }}"
    assert "the older form needs the axis as a constant, and 'a' is computed at run time" in refusal(model(text, opset=20), 19)


@pytest.mark.parametrize("dims", ["2, 4, 6, 1", "N, M, K, 1"])
@pytest.mark.parametrize("attributes", ["", "<inverse = 1>"])
def test_a_computed_axis(attributes: str, dims: str) -> None:
    """All are computed, and one is taken."""
    proto = model(f"g (float[{dims}] x, int64 a) => (float[A, B, C, 2] y) {{ y = DFT {attributes} (x, , a) }}", opset=20)
    for axis in (0, 1, 2, -2, -4):
        assert_same(proto, 17, {"x": X, "a": np.array(axis)}, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("attributes", "operands", "out", "axis"),
    [
        ("<onesided = 1>", "x, , a", "2, 3, 6, 2", 1),
        ("<onesided = 1>", "x, , a", "2, 4, 4, 2", -2),
        ("<onesided = 1>", "x, n, a", "2, 4, 5, 2", 2),
        ("", "x, n, a", "8, 4, 6, 2", 0),
    ],
)
def test_a_computed_axis_that_the_shape_tells(attributes: str, operands: str, out: str, axis: int) -> None:
    text = f"g (float[2, 4, 6, 1] x, int64 a) => (float[{out}] y) <int64 n = {{8}}> {{ y = DFT {attributes} ({operands}) }}"
    result = assert_same(model(text, opset=20), 17, {"x": X, "a": np.array(axis)}, rtol=1e-6, atol=1e-6)
    assert [node.op_type for node in result.graph.node] == ["DFT"]


@pytest.mark.parametrize(("axis", "expected"), [(1, 1), (-2, 2), (-3, 1), (None, 2)])
def test_downward(axis: int | None, expected: int) -> None:
    values, operands = ("", "x") if axis is None else (f"<int64 a = {{{axis}}}>", "x, , a")
    text = f"g (float[2, 4, 6, 1] x) => (float[2, 4, 6, 2] y) {values} {{ y = DFT ({operands}) }}"
    result = assert_same(model(text, opset=20), 17, {"x": X})
    assert result.graph.node[0].attribute[0].i == expected


@pytest.mark.parametrize("attributes", ["", "axis = 2", "onesided = 1", "axis = 1, inverse = 0"])
def test_upward_writes_out_the_default(attributes: str) -> None:
    dft = f"DFT <{attributes}>" if attributes else "DFT"
    proto = model(f"g (float[2, 4, 6, 1] x) => (float[A, B, C, 2] y) {{ y = {dft} (x) }}", opset=17)
    assert len(assert_same(proto, 20, {"x": X}).graph.node[0].input) == 3


@pytest.mark.parametrize("inverse", [0, 1])
def test_quarters_of_a_turn_are_exact(inverse: int) -> None:
    """Of whole numbers, the DFT of 4 has whole numbers, and where it is 0 it is 0: what is sorted by it stays in order."""
    text = f"g (float[1, 4, 2] x) => (float[1, 4, 2] y) {{ y = DFT <inverse = {inverse}> (x) }}"
    result = convert_version(model(text, opset=17), 11).model
    x = np.float32([[[1, 2], [3, -1], [-4, 2], [5, 0]]])
    numbers = x[0, :, 0] + 1j * x[0, :, 1]
    expected = np.fft.ifft(numbers) if inverse else np.fft.fft(numbers)
    np.testing.assert_array_equal(run(result, {"x": x})[0][0], np.stack([expected.real, expected.imag], -1))


@pytest.mark.parametrize("size", [255, 400, 1024])
@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param("y = DFT<axis = 1>(x)", id="DFT"),
        pytest.param("y = STFT<onesided = 0>(x, step, w, size)", id="STFT"),
        pytest.param(
            "f = STFT<onesided = 0>(x, step, w, size) q = Mul(f, f) z = ReduceSum(q, last) o = Add(z, eps) y = Log(o)",
            id="spectrum",
        ),
    ],
)
def test_the_default_comparison_of_a_long_transform(size: int, nodes: str) -> None:
    """onnxruntime has three or four digits where the length is no power of two; where terms cancel out, few are left of all."""
    text = f"g (float[2, {size}, 1] x) => (y) <int64 step = {{8}}, int64 size = {{{size}}}, int64[1] last = {{-1}}, float eps = {{1e-3}}>"
    rank = 3 if nodes.startswith("y = DFT") else 4
    text = text.replace("(y)", f"(float[{', '.join('abcd'[:rank])}] y)")
    comparison = convert_version(
        model(f"{text} {{ w = HannWindow(size) {nodes} }}", opset=17), 16, compare="auto"
    ).report.comparison
    assert comparison is not None and comparison.status == "equal"


def test_a_transform_that_is_wrong_by_a_little_is_seen(tmp_path: Path) -> None:
    """The other sine is what an inverse transform has; a window that is not periodic differs by hundredths."""
    text = "g (float[2, 400, 1] x) => (float[A, B, C, D] y) <int64 step = {8}, int64 size = {400}> {w = HannWindow<periodic = %d>(size) y = STFT(x, step, w, size)}"
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, periodic in zip(paths, (1, 0), strict=True):
        onnx.save(model(text % periodic, opset=17), path)
    with Worker() as worker:
        assert compare(*paths, tolerance=Tolerance(inexact=True, sums=True), worker=worker).status == "different"


def test_refuses_the_real_inverse_along_an_axis_of_unknown_length_below_17():
    text = "g (float[2,N,2] x) => (float[2,M,1] y) <int64 a = {1}> { y = DFT <onesided = 1, inverse = 1> (x, , a) }"
    assert "axis dimension 'N'" in refusal(model(text, 20), 16)


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [None, 3, 8])
@pytest.mark.parametrize("axis", [1, 2])
def test_below_opset_17_as_numpy(inverse, parts, length, axis):
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


def test_one_sided_below_opset_17():
    text = "g (float[2,8,1] x) => (float[2,5,2] y) { y = DFT <onesided=1> (x) }"
    x = RNG.normal(size=(2, 8, 1)).astype(np.float32)
    got = run(convert_version(model(text, 17), 13).model, {"x": x})[0]
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], np.fft.rfft(x[..., 0], axis=1), rtol=1e-5, atol=1e-5)


REWRITES = [
    (
        "dft.axis_to_attribute",
        20,
        19,
        "g (float[1,4,1] x) => (float[1,4,2] y) <int64 axis = {1}> { y = DFT (x, , axis) }",
        "{ y = DFT <axis = 1> (x) }",
    ),
    (
        "dft.axis_to_input",
        17,
        20,
        "g (float[1,4,1] x) => (float[1,4,2] y) { y = DFT <axis = 1> (x) }",
        "<int64 v1 = {1}> { y = DFT (x, ABSENT, v1) }",
    ),
    (
        "dft.multiply_by_roots_of_unity",
        17,
        16,
        "g (float[1,4,1] x) => (float[1,4,2] y) { y = DFT (x) }",
        """
            <int64[2] form = {1, 4},
             float[4,8] roots = {1, -0, 1, -0, 1, -0, 1, -0, 1, -0, 0, -1, -1, -0, -0, 1, 1, -0, -1, -0, 1, -0, -1, -0, 1, -0, -0, 1, -1, -0, 0, -1},
             int64[3] form_2 = {1, 4, 2}>
            {
              shaped = Reshape (x, form)
              product = MatMul (shaped, roots)
              y = Reshape (product, form_2)
            }
        """,
    ),
    (
        "dft.multiply_by_roots_of_unity",
        17,
        16,
        "g (float[N,2,M,1] x) => (float[N,2,M,2] y) { y = DFT <axis = 1> (x) }",
        """
            <int64[1] two = {2}, float[2,4] roots = {1, -0, 1, -0, 1, -0, -1, -0}, int64[2] parts = {2, 2}>
            {
              moved = Transpose <perm = [0, 2, 1, 3]> (x)
              length = Shape <end = 1, start = 0> (x)
              length_2 = Shape <end = 3, start = 2> (x)
              form = Concat <axis = 0> (length, length_2, two)
              shaped = Reshape (moved, form)
              product = MatMul (shaped, roots)
              form_2 = Concat <axis = 0> (length, length_2, parts)
              shaped_2 = Reshape (product, form_2)
              y = Transpose <perm = [0, 2, 1, 3]> (shaped_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("attributes", ["", "<inverse = 1>", "<onesided = 1>", "<axis = 2>"])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("target", [16, 11, 9])
def test_a_computed_length(attributes: str, parts: int, target: int) -> None:
    text = f"g (float[A, B, C, {parts}] x, int64 n) => (float[D, E, F, G] y) {{ y = DFT {attributes} (x, n) }}"
    if parts == 2 and "onesided" in attributes:
        return  # no valid model
    result = convert_version(model(text, 17), target, compare="off").model
    axis = 2 if "axis" in attributes else 1
    x = RNG.standard_normal((2, 5, 4, parts)).astype(np.float32)
    signal = x[..., 0] + 1j * (x[..., 1] if parts == 2 else 0)
    for count in (1, 3, 4, 5, 8):
        expected = (np.fft.ifft if "inverse" in attributes else np.fft.fft)(signal, count, axis)
        if "onesided" in attributes:
            expected = expected.take(range(count // 2 + 1), axis)
        (got,) = run(result, {"x": x, "n": np.array(count)})
        np.testing.assert_allclose(got, np.stack([expected.real, expected.imag], -1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("attributes", ["", "<inverse = 1>", "<onesided = 1>", "<axis = 2>"])
@pytest.mark.parametrize("given", ["", ", n"])
@pytest.mark.parametrize("target", [16, 11])
def test_data_of_an_open_length(attributes: str, given: str, target: int) -> None:
    stored = "<int64 n = {4}>" if given else ""
    text = f"g (float[A, B, C, 1] x) => (float[D, E, F, G] y) {stored} {{ y = DFT {attributes} (x{given}) }}"
    result = convert_version(model(text, 17), target, compare="off").model
    axis = 2 if "axis" in attributes else 1
    if not given and "onesided" not in attributes:
        shape = (2, 3, 0, 1) if axis == 2 else (2, 0, 3, 1)
        assert run(result, {"x": np.zeros(shape, np.float32)})[0].shape == (*shape[:3], 2)
    for size in (1, 2, 5, 8):
        signal = RNG.standard_normal((2, size, size, 1)).astype(np.float32)
        count = 4 if given else size
        expected = (np.fft.ifft if "inverse" in attributes else np.fft.fft)(signal[..., 0], count, axis)
        if "onesided" in attributes:
            expected = expected.take(range(count // 2 + 1), axis)
        (got,) = run(result, {"x": signal})
        np.testing.assert_allclose(got, np.stack([expected.real, expected.imag], -1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("stored", ["", "<int64 n = {3}>"])
def test_infinities_behind_the_length_do_not_count(stored):
    inputs = "float[1,5,1] x" if stored else "float[1,5,1] x, int64 n"
    text = f"g ({inputs}) => (float[1,N,2] y) {stored} {{ y = DFT (x, n) }}"
    x = np.array([1, 2, 3, np.inf, np.nan], np.float32).reshape(1, 5, 1)
    result = convert_version(model(text, 17), 13, compare="off").model
    (got,) = run(result, {"x": x} if stored else {"x": x, "n": np.array(3)})
    expected = np.fft.fft(x[0, :3, 0])
    np.testing.assert_allclose(got[0], np.stack([expected.real, expected.imag], -1), rtol=1e-5, atol=1e-5)
