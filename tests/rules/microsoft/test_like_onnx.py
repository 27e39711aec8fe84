"""Operators of onnxruntime that ONNX has, too, beside onnxruntime's kernels; of Rfft there is none, so beside numpy."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused, shown
from drawing import normal, whole
from helpers import run

from split_rewrite.rewriter import convert_version


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('y = com.microsoft.CDist <metric = "cosine"> (x, x)', "CDist has no metric 'cosine'"),
        ("y = com.microsoft.Rfft <signal_ndim = 2> (x)", "Rfft with signal_ndim, normalized or onesided"),
        ("y = com.microsoft.Trilu <lower = 1> (x)", "Trilu of onnxruntime has no attribute lower"),
    ],
)
def test_refused(node, message):
    assert message in refused(node, {"x": normal(2, 4)})


@pytest.mark.parametrize("operands", ["x", "x, k"])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("x", [normal(2, 3, 4), whole(np.int64, 3, 4)], ids=["float", "int64"])
def test_triangle(x, upper, operands):
    inputs = {"x": x} | ({"k": np.asarray(np.int64(1))} if "k" in operands else {})
    node = f"y = com.microsoft.Trilu <upper = {upper}> ({operands})"
    assert_standard(node, inputs, f"{shown(x)} y", targets=(18, 14, 13))


@pytest.mark.parametrize(("axis", "y"), [(0, "1,2,3"), (-1, "2,3,1"), (1, "2,1,3")])
@pytest.mark.parametrize("is_stored", [True, False])
def test_an_axis(is_stored, axis, y):
    x, at = normal(2, 3), {"a": np.asarray(np.int32(axis))}
    node = "y = com.microsoft.ExpandDims (x, a)"
    targets = (18, 13)
    assert_standard(node, {"x": x} | ({} if is_stored else at), f"float[{y}] y", constants=at if is_stored else {}, targets=targets)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize("sizes", [[0, 1, 2, 1], [[0, 1, 2, 1]]])
def test_padding(sizes, mode):
    stored = {"p": np.array(sizes, np.int64), "v": np.array([1.5], np.float32)}
    operands = "x, p, v" if mode == "constant" else "x, p"
    stored = {name: value for name, value in stored.items() if name in operands}
    assert_standard(f'y = com.microsoft.Pad <mode = "{mode}"> ({operands})', {"x": normal(3, 4)}, "float[5,6] y", constants=stored)


def test_first_of_each():
    x = np.array([2, 1, 1, 3, 4, 3], np.float32)
    node = "y, i, c = com.microsoft.Unique (x)"
    result = assert_standard(node, {"x": x}, "float[N] y, int64[6] i, int64[N] c", targets=(18, 13, 11))
    assert operators(result) == ["Unique"]


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grid(corners, padding, mode):
    node = f'y = com.microsoft.GridSample <mode = "{mode}", padding_mode = "{padding}", align_corners = {corners}> (x, g)'
    inputs = {"x": normal(1, 2, 4, 5), "g": np.clip(normal(1, 3, 3, 2), -1.2, 1.2)}
    assert_standard(node, inputs, "float[1,2,3,3] y", targets=(18, 16), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_distances(metric):
    node = f'y = com.microsoft.CDist <metric = "{metric}"> (a, b)'
    inputs = {"a": normal(3, 8), "b": normal(5, 8)}
    assert_standard(node, inputs, "float[3,5] y", rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [8, 9])
def test_transform(length):
    x = normal(2, 3, length)
    expected = np.fft.rfft(x)
    proto = contrib_model("y = com.microsoft.Rfft (x)", {"x": x}, f"float[2,3,{length // 2 + 1},2] y")
    for target in (20, 17, 13):
        result = convert_version(proto, target, compare="off", options=STANDARD).model
        found = run(result, {"x": x})[0]
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operands", ["x, w, p", "x, w, p, b"])
def test_transposed_convolution(operands):
    stored = {"w": normal(2, 3, 3, 3), "p": np.array([1, 0, 1, 1], np.int64), "b": normal(3)}
    stored = {name: value for name, value in stored.items() if name in operands.split(", ")}
    node = f"y = com.microsoft.ConvTransposeWithDynamicPads <strides = [2,2]> ({operands})"
    assert_standard(node, {"x": normal(1, 2, 5, 6)}, "float[1,3,9,12] y", constants=stored, rtol=1e-4, atol=1e-5)


def test_padding_that_is_computed():
    inputs = {"x": normal(1, 2, 5, 6), "p": np.zeros(4, np.int64)}
    node = "y = com.microsoft.ConvTransposeWithDynamicPads (x, w, p)"
    message = refused(node, inputs, "float[1,3,7,8] y", constants={"w": normal(2, 3, 3, 3)})
    assert "needs the padding as a constant, and 'p' is computed at run time" in message
