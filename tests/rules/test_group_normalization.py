"""InstanceNormalization, GroupNormalization and MeanVarianceNormalization."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, known, model, refusal, run


def test_refuses_three_dimensions_at_opset_1():
    text = "g (float[2,3,4] x, float[3] s, float[3] b) => (float[2,3,4] y) { y = InstanceNormalization (x, s, b) }"
    assert "InstanceNormalization of opset 1 takes 4 dimensions, and 'x' has 3" in refusal(model(text, 6), 5)


def test_images_stay_as_they_are():
    text = "g (float[2,3,4,4] x, float[3] s, float[3] b) => (float[2,3,4,4] y) { y = InstanceNormalization (x, s, b) }"
    proto = model(text, 6)
    assert convert_version(proto, 5).model.graph.node == proto.graph.node


def expected(x, scale, bias, groups):
    """`scale` and `bias` per channel."""
    parts = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    parts = (parts - parts.mean(axis=2, keepdims=True)) / np.sqrt(parts.var(axis=2, keepdims=True) + 1e-5)
    column = (-1, *[1] * (x.ndim - 2))
    return parts.reshape(x.shape) * scale.reshape(column) + bias.reshape(column)


X = np.random.default_rng(2).normal(size=(2, 6, 3)).astype(np.float32)


@pytest.mark.parametrize("given", ["input", "constant"])
@pytest.mark.parametrize("channels", ["6", "C"])
def test_up_one_scale_a_group_is_repeated(given, channels):
    inputs = ", float[3] s, float[3] b" if given == "input" else ""
    constants = "" if given == "input" else "<float[3] s = {1.0, 2.0, 3.0}, float[3] b = {0.0, 1.0, -1.0}>"
    kind = f"float[2,{channels},3]"
    text = f"g ({kind} x{inputs}) => ({kind} y) {constants} {{ y = GroupNormalization <num_groups=3> (x, s, b) }}"
    scale, bias = np.array([1, 2, 3], np.float32), np.array([0, 1, -1], np.float32)
    feeds = {"x": X, "s": scale, "b": bias} if given == "input" else {"x": X}
    result = convert_version(model(text, 18), 21).model
    want = expected(X, np.repeat(scale, 2), np.repeat(bias, 2), 3)
    np.testing.assert_allclose(run(result, feeds)[0], want, rtol=1e-4, atol=1e-5)


def test_up_keeps_the_precision_of_the_data():
    text = "g (double[2,6,3] x, double[3] s, double[3] b) => (double[2,6,3] y) { y = GroupNormalization <num_groups=3> (x, s, b) }"
    node = convert_version(model(text, 18), 21).model.graph.node[-1]
    assert {a.name: a.i for a in node.attribute} == {"num_groups": 3, "stash_type": 11}


@pytest.mark.parametrize("target", [20, 18, 17, 13])
def test_down_it_is_spelled_out(target):
    text = "g (float[2,6,3] x, float[6] s, float[6] b) => (float[2,6,3] y) { y = GroupNormalization <num_groups=3> (x, s, b) }"
    scale, bias = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32)[::-1].copy()
    result = convert_version(model(text, 21), target).model
    assert all(node.op_type != "GroupNormalization" for node in result.graph.node)
    np.testing.assert_allclose(run(result, {"x": X, "s": scale, "b": bias})[0], expected(X, scale, bias, 3), rtol=1e-4, atol=1e-5)


def test_mean_variance_normalization_in_a_function_keeps_its_default() -> None:
    text = """<ir_version: 8, opset_import: ["" : 9, "local" : 1]>
        g (float[1, 2, 2, 2] x) => (float[a, b, c, d] y) {y = local.f(x)}
        <domain: "local", opset_import: ["" : 9]> f (x) => (y) {y = MeanVarianceNormalization(x)}"""
    x = np.random.default_rng(0).standard_normal((1, 2, 2, 2)).astype(np.float32)
    assert_same(model(text), 13, {"x": x}, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
def test_its_numbers_where_scale_and_bias_are_constants():
    result = convert_version(
        model(
            """g (float[2,4,3] x) => (float[2,4,3] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> {
          y = GroupNormalization <num_groups = 2> (x, s, b)
        }""",
            21,
            10,
        ),
        13,
    ).model
    x = X[:, :4]
    want = expected(x, np.array([1, 2, 3, 4]), np.array([5, 6, 7, 8]), 2)
    np.testing.assert_allclose(run(result, {"x": x})[0], want, rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
@pytest.mark.parametrize("shape", ["N,4,3", "2,4,L", "N,C,L"])
def test_sizes_that_are_only_known_when_the_model_runs(shape):
    text = (
        f"g (float[{shape}] x, float[4] s, float[4] b) => (float[A,B,C2] y) {{ y = GroupNormalization <num_groups = 2> (x, s, b) }}"
    )
    s, b = np.float32([1, 2, 3, 4]), np.float32([5, 6, 7, 8])
    got = run(convert_version(model(text, 21, 10), 13).model, {"x": X[:, :4], "s": s, "b": b})[0]
    np.testing.assert_allclose(got, expected(X[:, :4], s, b, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
def test_doubles_do_without_instance_normalization():
    text = """g (double[2,4,3] x, double[4] s, double[4] b) => (double[2,4,3] y) {
      y = GroupNormalization <num_groups = 2, stash_type = 11> (x, s, b)
    }"""
    result = convert_version(model(text, 21, 10), 13).model
    assert "InstanceNormalization" not in [node.op_type for node in result.graph.node]
    x, s, b = X[:, :4].astype(np.float64), np.arange(1.0, 5), np.arange(5.0, 9)
    np.testing.assert_allclose(run(result, {"x": x, "s": s, "b": b})[0], expected(x, s, b, 2), rtol=1e-9)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
@pytest.mark.parametrize("target", [18, 13])
def test_an_unknown_rank_leaves_onnxs_body(target: int) -> None:
    text = """g (float[A] x, int64[R] form, float[4] s, float[4] b) => (float[B] y) <int64[1] flat = {-1}> {
      z = Reshape (x, form)  n = GroupNormalization <num_groups = 2> (z, s, b)  y = Reshape (n, flat)
    }"""
    x, s, b = X[:, :4], np.arange(1, 5, dtype=np.float32), np.arange(5, 9, dtype=np.float32)
    feeds = {"x": x.ravel(), "form": np.array(x.shape), "s": s, "b": b}
    got = run(convert_version(model(text, 21, 10), target).model, feeds)[0]
    np.testing.assert_allclose(got, expected(x, s, b, 2).ravel(), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
@pytest.mark.parametrize("target", [18, 13])
def test_bfloat16_is_valid_below_21(target: int) -> None:
    kind = "bfloat16[2,4,3]"
    text = f"g ({kind} x, bfloat16[4] s, bfloat16[4] b) => ({kind} y) {{ y = GroupNormalization <num_groups = 2, stash_type = 16> (x, s, b) }}"
    result = convert_version(model(text, 21, 10), target).model
    assert all(node.op_type != "Pow" for node in result.graph.node)


@pytest.mark.skipif(not known(21), reason="onnx has no opset 21")
@pytest.mark.parametrize("target", [20, 18])
def test_a_mean_that_is_far_from_zero_costs_no_digits(target: int) -> None:
    text = "g (float[2,6,3] x, float[6] s, float[6] b) => (float[2,6,3] y) { y = GroupNormalization <num_groups=3> (x, s, b) }"
    ones, zeros = np.ones(6, np.float32), np.zeros(6, np.float32)
    x = (X + 1000).astype(np.float32)
    got = run(convert_version(model(text, 21), target).model, {"x": x, "s": ones, "b": zeros})[0]
    np.testing.assert_allclose(got, expected(x, ones, zeros, 3), rtol=1e-3, atol=1e-3)


REWRITES = [
    (
        "group_normalization.normalize_groups",
        18,
        13,
        "g (float[1,4,5] x, float[2] s, float[2] b) => (float[1,4,5] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        """
            <int64[3] rows = {0, 2, -1}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, int64[3] form = {1, -1, 1},
             int64[3] shape = {1, 4, 5}>
            {
              rows_2 = Reshape (x, rows)
              normalized = InstanceNormalization <epsilon = 1e-05> (rows_2, ones, zeros)
              factor = Reshape (s, form)
              factor_2 = Reshape (b, form)
              scaled = Mul (normalized, factor)
              shifted = Add (scaled, factor_2)
              y = Reshape (shifted, shape)
            }
        """,
    ),
    (
        "group_normalization.normalize_groups",
        21,
        13,
        "g (float[1,4,5] x, float[4] s, float[4] b) => (float[1,4,5] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        """
            <int64[3] rows = {0, 2, -1}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, int64[3] shape = {1, 4, 5},
             int64[3] form = {1, -1, 1}>
            {
              rows_2 = Reshape (x, rows)
              normalized = InstanceNormalization <epsilon = 1e-05> (rows_2, ones, zeros)
              normalized_2 = Reshape (normalized, shape)
              factor = Reshape (s, form)
              factor_2 = Reshape (b, form)
              scaled = Mul (normalized_2, factor)
              y = Add (scaled, factor_2)
            }
        """,
    ),
    (
        "group_normalization.per_channel",
        18,
        21,
        "g (float[1,4,5] x, float[2] s, float[2] b) => (float[1,4,5] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        """
            <int64[2] column = {2, 1}, int64[2] shape = {2, 2}, int64[1] flat = {-1}>
            {
              scale = Reshape (s, column)
              scale_2 = Expand (scale, shape)
              scale_3 = Reshape (scale_2, flat)
              bias = Reshape (b, column)
              bias_2 = Expand (bias, shape)
              bias_3 = Reshape (bias_2, flat)
              y = GroupNormalization <num_groups = 2> (x, scale_3, bias_3)
            }
        """,
    ),
    (
        "group_normalization.normalize_groups",
        21,
        13,
        "g (float[2,4,3] x) => (float[2,4,3] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        """
            <int64[3] rows = {0, 2, -1}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, int64[3] shape = {2, 4, 3},
             float[1,4,1] factor = {1, 2, 3, 4}, float[1,4,1] factor_2 = {5, 6, 7, 8}>
            {
              rows_2 = Reshape (x, rows)
              normalized = InstanceNormalization <epsilon = 1e-05> (rows_2, ones, zeros)
              normalized_2 = Reshape (normalized, shape)
              scaled = Mul (normalized_2, factor)
              y = Add (scaled, factor_2)
            }
        """,
    ),
    (
        "group_normalization.normalize_groups",
        21,
        18,
        "g (float[1,4,5] x, float[4] s, float[4] b) => (float[1,4,5] y) { y = GroupNormalization <num_groups = 2> (x, s, b) }",
        """
            <int64[3] rows = {0, 2, -1}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, int64[3] shape = {1, 4, 5},
             int64[3] form = {1, -1, 1}>
            {
              rows_2 = Reshape (x, rows)
              normalized = InstanceNormalization <epsilon = 1e-05> (rows_2, ones, zeros)
              normalized_2 = Reshape (normalized, shape)
              factor = Reshape (s, form)
              factor_2 = Reshape (b, form)
              scaled = Mul (normalized_2, factor)
              y = Add (scaled, factor_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [19, 20])
def test_what_is_deprecated_in_the_input_may_be_so_in_the_result(target: int) -> None:
    text = "g (float[1,4,2] x, float[2] s) => (float[1,4,2] y) { y = GroupNormalization <num_groups = 2> (x, s, s) }"
    result = convert_version(model(text, 18), target).model
    assert [node.op_type for node in result.graph.node] == ["GroupNormalization"]
    assert result.opset_import[0].version == target
