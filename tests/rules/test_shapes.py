"""Expand, ConstantOfShape, Range, EyeLike and Trilu below the opsets that brought them."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, model, refusal, run

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (float[N] x, int64[K] s) => (float y) { y = Expand (x, s) }",
            8,
            7,
            "the length of the shape 's' is unknown",
            id="rank",
        ),
        pytest.param(
            "g (float[N,3] x) => (float[N,3] y) { y = EyeLike (x) }", 9, 8, "is not fully known", id="eye of unknown size"
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize(
    "shape, sizes",
    [
        pytest.param((3, 1), [2, 1, 4], id="more axes"),
        pytest.param((2, 3, 1), [3, 4], id="fewer axes"),
        pytest.param((2, 1), [1, 3], id="ones keep"),
        pytest.param((1,), [0], id="to nothing"),
        pytest.param((0, 1), [1, 5], id="of nothing"),
        pytest.param((), [2, 2], id="of a scalar"),
        pytest.param((), [], id="scalar to scalar"),
    ],
)
def test_expand(shape, sizes):
    x = np.resize(SPECIAL, shape)
    dims = ",".join(map(str, shape))
    out = "".join(f"[{','.join('ABCD'[: max(len(shape), len(sizes))])}]" if shape or sizes else "")
    data = f"float[{dims}]" if shape else "float"
    proto = model(f"g ({data} x, int64[{len(sizes)}] s) => (float{out} y) {{ y = Expand (x, s) }}", 13)
    result = convert_version(proto, 7).model
    got = run(result, {"x": x, "s": np.array(sizes, np.int64)})[0]
    np.testing.assert_array_equal(got, x * np.ones(sizes, np.float32))
    assert got.shape == np.broadcast_shapes(shape, tuple(sizes))


@pytest.mark.parametrize("kind", ["float", "int64", "int32", "bool", "uint8"])
@pytest.mark.parametrize("target", [8, 7])
def test_constant_of_shape(kind, target):
    text = f"g (int64[2] s) => ({kind}[A,B] y) {{ y = ConstantOfShape <value = {kind}[1] {{1}}> (s) }}"
    assert_same(model(text, 9), target, {"s": np.array([2, 3], np.int64)})


def test_constant_of_a_shape_with_nothing_in_it():
    assert_same(model("g (int64[2] s) => (float[A,B] y) { y = ConstantOfShape (s) }", 9), 8, {"s": np.array([0, 3], np.int64)})


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize("start, limit, delta", [(0, 5, 1), (2, 11, 3), (10, 1, -4), (3, 3, 1), (5, 0, 1), (-7, 7, 7)])
def test_range_of_integers(kind, start, limit, delta):
    proto = model(f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range (a, b, c) }}", 11)
    given = {name: np.array(value, kind) for name, value in zip("abc", (start, limit, delta), strict=True)}
    got = run(convert_version(proto, 9).model, given)[0]
    np.testing.assert_array_equal(got, np.arange(start, limit, delta, dtype=kind))


@pytest.mark.parametrize("start, limit, delta", [(0, 1, 0.1), (1, -1, -0.3), (0.5, 0.5, 1), (0, -1, 1)])
def test_range_of_floats_counts_alike(start, limit, delta):
    """start + i * delta, as the page says; runtimes may add delta again and again, hence the tolerance of some 10 additions."""
    proto = model("g (float a, float b, float c) => (float[N] y) { y = Range (a, b, c) }", 11)
    given = {name: np.array(value, np.float32) for name, value in zip("abc", (start, limit, delta), strict=True)}
    result = convert_version(proto, 9)
    assert result.report.inexact == {"range.count_then_scale"}
    np.testing.assert_allclose(run(result.model, given)[0], run(proto, given)[0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_eye(k):
    assert_same(
        model(f"g (int32[3,4] x) => (float[3,4] y) {{ y = EyeLike <k={k}, dtype=1> (x) }}", 9), 8, {"x": np.zeros((3, 4), np.int32)}
    )


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 0, 2, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("target, dims", [(13, "B,M,N"), (13, "2,3,5"), (11, "2,M,N"), (9, "B,3,5"), (8, "2,3,5")])
def test_trilu(upper, k, target, dims):
    if k is not None and abs(k) > 100 and target < 13:
        pytest.skip("onnxruntime's own Trilu decides these; once is enough")
    operands, given = "x", {"x": np.resize(SPECIAL, (2, 3, 5))}
    signature = f"float[{dims}] x"
    if k is not None and target >= 9:
        operands, signature, given["k"] = "x, k", f"{signature}, int64 k", np.array(k)
    proto = model(f"g ({signature}) => (float[{dims}] y) {{ y = Trilu <upper={upper}> ({operands}) }}", 14)
    shown = run(convert_version(proto, target).model, given)[0]
    expected = (np.triu if upper else np.tril)(np.ones((3, 5), bool), max(min(k or 0, 9), -9) if "k" in given else 0)
    np.testing.assert_array_equal(shown, np.where(expected, given["x"], np.float32(0)))
