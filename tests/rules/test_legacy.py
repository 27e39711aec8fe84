"""Experimental operators of ONNX's first releases, against onnxruntime's kernels, which it has for models before opset 10."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run

IMAGES = np.random.default_rng(1).normal(size=(2, 3, 6, 5)).astype(np.float32)


def images(node: str, out: str = "A,B,C,D") -> str:
    return f"g (float[2,3,6,5] x) => (float[{out}] y) {{ y = {node} (x) }}"


# -- what has no meaning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "g (float[2] x) => (float[2] y) { y = ATen (x) }",
            "ATen of ONNX's first releases is in no opset, and no runtime computes it",
        ),
        ("g (float[2] x) => (float[2] y) { y = GRUUnit (x, x, x, x) }", "GRUUnit of ONNX's first releases is in no opset"),
        (
            "g (float[2] x) => (float[2] y) { y = LoopIndexTensor (x, x) }",
            "LoopIndexTensor of ONNX's first releases is in no opset",
        ),
        (images("ImageScaler <bias = [1.0]>"), "needs images of four axes and a bias for each channel"),
        (images("ImageScaler <scale = 2.0>"), "needs images of four axes and a bias for each channel"),
        (images("Crop <border = [1, 1]>"), "needs images of four axes, four borders"),
        (images("Crop <border = [0, 0, 0, 0], scale = [7, 2]>"), "cannot take more than the 6 elements of axis 2"),
        (images("ScaledTanh <alpha = 2.0>"), "needs alpha and beta"),
        (images("ParametricSoftplus"), "needs alpha and beta"),
        ("g (float[2] x) => (float[2] y) { y = Affine (x, x) }", "has one input"),
        ("g (float[4] x) => (float[4] y) { y = DynamicSlice (x, x) }", "has three or four inputs"),
        ("g () => (float[2] y) { y = ConstantFill <shape = [2], dtype = 8> () }", "does not fill with element type 8"),
        ("g () => (float[2] y) { y = ConstantFill <extra_shape = [2]> () }", "neither extra_shape nor input_as_shape"),
        ("g () => (float[2] y) { y = GivenTensorFill <values = [1.0]> () }", "is known only with a shape"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    assert message in refusal(model(text, 7), 13)


# -- what is written

REWRITES = [
    ("legacy.scale_and_shift", 7, 13, images("Affine <alpha = 2.0, beta = 0.5>"), "<float two = {2}, float half = {0.5}> { t = Mul (x, two) y = Add (t, half) }"),
    ("legacy.scale_and_shift", 7, 13, images("Affine"), "{ y = Identity (x) }"),
    ("legacy.scale", 7, 13, images("Scale <scale = 2.0>"), "<float two = {2}> { y = Mul (x, two) }"),
    (
        "legacy.scale_image", 7, 13, images("ImageScaler <bias = [1.0, 2.0, 3.0], scale = 0.5>"),
        "<float half = {0.5}, float[3,1,1] bias = {1, 2, 3}> { t = Mul (x, half) y = Add (t, bias) }",
    ),
    (
        "legacy.parametric_softplus", 7, 13, images("ParametricSoftplus <alpha = 2.0, beta = 0.5>"),
        "<float half = {0.5}, float two = {2}> { t = Mul (x, half) s = Softplus (t) y = Mul (s, two) }",
    ),
    (
        "legacy.scaled_tanh", 7, 13, images("ScaledTanh <alpha = 2.0, beta = 0.5>"),
        "<float half = {0.5}, float two = {2}> { t = Mul (x, half) s = Tanh (t) y = Mul (s, two) }",
    ),
    (
        "legacy.crop", 7, 13, images("Crop <border = [1, 2, 0, 1]>"),
        "<int64[2] starts = {2, 1}, int64[2] ends = {-1, 9223372036854775807}, int64[2] axes = {2, 3}> { y = Slice (x, starts, ends, axes) }",
    ),
    ("legacy.crop", 7, 9, images("Crop <border = [1, 2, 0, 1]>"),
     "{ y = Slice <axes = [2, 3], ends = [-1, 9223372036854775807], starts = [2, 1]> (x) }"),
    (
        "legacy.slice_by_inputs", 7, 13,
        "g (float[4] x, int64[1] s, int64[1] e) => (float[N] y) { y = DynamicSlice (x, s, e) }", "{ y = Slice (x, s, e) }",
    ),
    (
        "legacy.fill", 7, 13, "g (int64[2] s) => (float[A,B] y) { y = ConstantFill <input_as_shape = 1, value = 0.5> (s) }",
        "{ y = ConstantOfShape <value = float[1] {0.5}> (s) }",
    ),
    (
        "legacy.given_tensor", 7, 13, "g () => (float[2] y) { y = GivenTensorFill <shape = [2], values = [1.0, 2.0]> () }",
        "{ y = Constant <value = float[2] {1, 2}> () }",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


# -- what it computes


@pytest.mark.parametrize("target", [8, 9, 13, 18])
@pytest.mark.parametrize(
    "node",
    [
        "Affine <alpha = 2.0, beta = 0.5>",
        "Affine",
        "Scale <scale = -0.3>",
        "ImageScaler <bias = [1.0, -2.0, 3.0], scale = 0.7>",
        "ImageScaler <bias = [1.0, -2.0, 3.0]>",
        "ParametricSoftplus <alpha = 2.0, beta = -3.5>",
        "ScaledTanh <alpha = 2.0, beta = 0.5>",
        "Crop <border = [1, 2, 0, 1]>",
        "Crop <border = [1, 2, 0, 0], scale = [3, 2]>",
        "Crop <border = [0, 0, 0, 0]>",
        "ThresholdedRelu <alpha = 0.25>",
        "MeanVarianceNormalization",
        "MeanVarianceNormalization <across_channels = 1>",
        "MeanVarianceNormalization <across_channels = 1, normalize_variance = 0>",
    ],
)
def test_it_is_what_onnxruntime_computes(node: str, target: int) -> None:
    proto = model(images(node), 7)
    result, report = convert_version(proto, target)
    assert {each.domain for each in result.graph.node} == {""}
    assert [entry.domain for entry in result.opset_import] == [""]
    assert f"opset 7 of ONNX does not have {node.partition(' ')[0]}: it is taken as runtimes take it" in report.warnings[0]
    np.testing.assert_allclose(run(result, {"x": IMAGES})[0], run(proto, {"x": IMAGES})[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inputs", ["(x, s, e)", "(x, s, e, a)"])
@pytest.mark.parametrize("target", [9, 13])
def test_slices(inputs: str, target: int) -> None:
    stored = "<int32[1] s = {-3}, int32[1] e = {100}, int32[1] a = {-1}>"
    proto = model(f"g (float[6,5] x) => (float[A,B] y) {stored} {{ y = DynamicSlice {inputs} }}", 7)
    x = IMAGES[0, 0]
    expected = x[:, -3:] if "a" in inputs else x[-3:]
    assert np.array_equal(run(proto, {"x": x})[0], expected)
    assert np.array_equal(run(convert_version(proto, target).model, {"x": x})[0], expected)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("ConstantFill <value = 2.0, dtype = 7> (x)", np.full((2, 3), 2, np.int64)),
        ("ConstantFill <extra_shape = [4]> (x)", np.zeros((2, 3, 4), np.float32)),
        ("ConstantFill <shape = [3, 2], value = 0.5> ()", np.full((3, 2), 0.5, np.float32)),
        ("ConstantFill <input_as_shape = 1, extra_shape = [2]> (s)", np.zeros((3, 2), np.float32)),
        ("GivenTensorFill <shape = [1, 2], values = [1.5, 2.5]> ()", np.array([[1.5, 2.5]], np.float32)),
    ],
)
def test_filled_as_its_text_says(node: str, expected: np.ndarray) -> None:
    """No runtime has a kernel for these."""
    kind = "int64" if expected.dtype == np.int64 else "float"
    proto = model(f"g (float[2,3] x) => ({kind}[{','.join('ABCD'[: expected.ndim])}] y) <int32[1] s = {{3}}> {{ y = {node} }}", 7)
    result = convert_version(proto, 9).model
    assert np.array_equal(run(result, {"x": np.zeros((2, 3), np.float32)})[0], expected)
