"""RMSNormalization below opset 23."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, optimized, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 23, reason="the installed onnx has no RMSNormalization")

PLAIN = "g (float[2,4,8] x, float[8] s) => (float[2,4,8] y) { y = RMSNormalization (x, s) }"
RNG = np.random.default_rng(3)
X, S = RNG.normal(size=(2, 4, 8)).astype(np.float32), RNG.random(8, np.float32)


EPSILON = float(np.float32(1e-5))


def expected(x, s, axes=(-1,), epsilon=EPSILON):
    x = x.astype(np.float64)
    return x / np.sqrt((x**2).mean(axes, keepdims=True) + epsilon) * s


def test_its_numbers():
    result = convert_version(model(PLAIN, 23, 10), 13).model
    np.testing.assert_allclose(run(result, {"x": X, "s": S})[0], expected(X, S), rtol=1e-5)


def test_half_precision_is_computed_in_float_between_two_casts():
    text = "g (float16[2,4,8] x, float16[8] s) => (float16[2,4,8] y) { y = RMSNormalization (x, s) }"
    result = convert_version(model(text, 23, 10), 13).model
    names = [node.op_type for node in result.graph.node]
    assert names == ["Cast", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Cast", "Mul"]
    x, s = X.astype(np.float16), S.astype(np.float16)
    np.testing.assert_allclose(run(result, {"x": x, "s": s})[0], expected(x, s), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_over_several_axes(axis):
    dims = X.shape[axis:]
    shape = ",".join(map(str, dims))
    text = f"g (float[2,4,8] x, float[{shape}] s) => (float[2,4,8] y) {{ y = RMSNormalization <axis = {axis}> (x, s) }}"
    s = RNG.random(dims, np.float32)
    got = run(convert_version(model(text, 23, 10), 11).model, {"x": X, "s": s})[0]
    np.testing.assert_allclose(got, expected(X, s, tuple(range(axis % 3, 3))), rtol=1e-5)


def test_an_unknown_rank_is_no_obstacle_for_the_last_axis():
    text = "g (float[A,B] w, int64[K] r, float[8] s) => (float[2,4,8] y) { x = Reshape (w, r)  y = RMSNormalization (x, s) }"
    result = convert_version(model(text, 23, 10), 13).model
    feeds = {"w": X.reshape(8, 8), "r": np.array(X.shape), "s": S}
    np.testing.assert_allclose(run(result, feeds)[0], expected(X, S), rtol=1e-5)


@pytest.mark.parametrize("target", [11, 13, 17])
def test_onnxruntime_recognizes_it(target):
    text = "g (float[2,4,8] x) => (float[2,4,8] y) <float[8] s = {1,2,3,4,5,6,7,8}> { y = RMSNormalization (x, s) }"
    assert optimized(convert_version(model(text, 23, 10), target).model) == ["SimplifiedLayerNormalization"]


@pytest.mark.parametrize("target", [22, 13])
def test_doubles_are_computed_in_double_whatever_the_least_precision_is(target):
    text = "g (double[2,4,8] x, double[8] s) => (double[2,4,8] y) { y = RMSNormalization <stash_type = 1> (x, s) }"
    x, s = X.astype(np.float64), S.astype(np.float64)
    got = run(convert_version(model(text, 23), target).model, {"x": x, "s": s})[0]
    np.testing.assert_allclose(got, expected(x, s), rtol=1e-13)


SIMPLIFIED = (
    "g (float[2,4,8] x, float[8] s) => (float[2,4,8] y) { y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.001> (x, s) }"
)
"""As onnxruntime's optimizer names it."""

REWRITES = [
    (
        "rms_normalization.take_from_onnxruntime",
        17,
        23,
        SIMPLIFIED,
        "{ y = RMSNormalization <axis = -1, epsilon = 0.001> (x, s) }",
    ),
    (
        "rms_normalization.divide_by_the_root_mean_square",
        23,
        13,
        "g (float[2,4] x, float[4] s) => (float[2,4] y) { y = RMSNormalization (x, s) }",
        """
            <float two = {2}, float epsilon = {1e-05}>
            {
              square = Pow (x, two)
              variance = ReduceMean <axes = [-1], keepdims = 1> (square)
              padded = Add (variance, epsilon)
              std = Sqrt (padded)
              normalized = Div (x, std)
              y = Mul (normalized, s)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


# -- as onnxruntime's optimizer names it


@pytest.mark.parametrize("target", [23, 13, 9])
def test_it_is_what_onnxruntime_computes(target):
    proto, inputs = model(SIMPLIFIED, 17), {"x": X, "s": S}
    result = convert_version(proto, target, compare="required").model
    assert {node.domain for node in result.graph.node} == {""}
    np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-6)
