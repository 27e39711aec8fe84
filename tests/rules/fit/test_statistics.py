"""Means, poolings and normalizations in terms of each other, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import model, run

from split_rewrite import rewriter

REWRITES = [
    (
        "statistics.root_of_squares",
        ["Mul", "ReduceSum", "Sqrt"],
        "",
        "g (float[2,3,4] x) => (float[2,4] y) { y = ReduceL2<axes = [1], keepdims = 0>(x) }",
        """
            <int64[1] axes = {1}>
            {
             squares = Mul (x, x)
             sum = ReduceSum <keepdims: int = 0> (squares, axes)
             y = Sqrt (sum)
            }
        """,
    ),
    (
        "statistics.pool_of_the_image",
        ["GlobalAveragePool", "Reshape"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2] y) { y = ReduceMean<axes = [2, 3], keepdims = 0>(x) }",
        """
            <int64[2] v2 = {1,2}>
            {
             v1 = GlobalAveragePool (x)
             y = Reshape (v1, v2)
            }
        """,
    ),
    (
        "statistics.largest_of_the_image",
        ["GlobalMaxPool"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = ReduceMax<axes = [-1, -2]>(x) }",
        """
            {
             y = GlobalMaxPool (x)
            }
        """,
    ),
    (
        "statistics.pool_of_an_axis",
        ["GlobalAveragePool", "Reshape"],
        "",
        "g (float[2,3,4,2] x) => (float[2,3,4,1] y) { y = ReduceMean<axes = [-1]>(x) }",
        """
            <int64[4] v1 = {1,24,1,2}, int64[4] v4 = {2,3,4,1}>
            {
             v2 = Reshape (x, v1)
             v3 = GlobalAveragePool (v2)
             y = Reshape (v3, v4)
            }
        """,
    ),
    (
        "statistics.sum_by_count",
        ["ReduceSum", "Mul"],
        "",
        "g (float[2,3,4] x) => (float[2,3,1] y) { y = ReduceMean<axes = [-1]>(x) }",
        """
            <int64[1] v1 = {2}, float v3 = {0.25}>
            {
             v2 = ReduceSum <keepdims: int = 1> (x, v1)
             y = Mul (v2, v3)
            }
        """,
    ),
    (
        "statistics.sum_by_count",
        ["ReduceSum", "Mul"],
        "",
        "g (float16[2,128] x) => (float16[2] y) { y = ReduceMean<axes = [-1], keepdims = 0>(x) }",
        """
            <float16 v1 = {11264}, int64[1] v3 = {1}, float16 v5 = {12288}>
            {
             v2 = Mul (x, v1)
             v4 = ReduceSum <keepdims: int = 0> (v2, v3)
             y = Mul (v4, v5)
            }
        """,
    ),
    (
        "statistics.mean_times_count",
        ["ReduceMean", "Mul"],
        "",
        "g (float[2,3,4] x) => (float[2,3] y) <int64[1] a = {2}> { y = ReduceSum<keepdims = 0>(x, a) }",
        """
            <float v2 = {4}>
            {
             v1 = ReduceMean <axes: ints = [2], keepdims: int = 0> (x)
             y = Mul (v1, v2)
            }
        """,
    ),
    (
        "statistics.mean_over_the_image",
        ["ReduceMean"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }",
        """
            {
             y = ReduceMean <axes: ints = [2, 3], keepdims: int = 1> (x)
            }
        """,
    ),
    (
        "statistics.pool_with_one_window",
        ["AveragePool"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }",
        """
            {
             y = AveragePool <kernel_shape: ints = [4, 4]> (x)
            }
        """,
    ),
    (
        "statistics.convolution_over_the_channels",
        ["Conv", "Reshape"],
        "",
        "g (float[2,4,3,3] x) => (float[2,3,3] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }",
        """
            <float[1,4,1,1] w = {0.25,0.25,0.25,0.25}, int64[3] shape = {2,3,3}>
            {
             mean = Conv <kernel_shape = [1, 1]> (x, w)
             y = Reshape (mean, shape)
            }
        """,
    ),
    (
        "statistics.average_of_averages",
        ["GlobalAveragePool", "AveragePool"],
        "[[rule]]\noperators = ['GlobalAveragePool']\ndim = { '2' = { max = 20 } }\n[[rule]]\noperators = ['AveragePool']\nattr = { kernel_shape = { max = 7 } }",
        "g (float[1,2,40,45] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }",
        """
            {
             v1 = AveragePool <kernel_shape = [2, 3], strides = [2, 3]> (x)
             v2 = AveragePool <kernel_shape = [2, 3], strides = [2, 3]> (v1)
             y = GlobalAveragePool (v2)
            }
        """,
    ),
    (
        "statistics.largest_in_one_window",
        ["MaxPool"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,1,1] y) { y = GlobalMaxPool(x) }",
        """
            {
             y = MaxPool <kernel_shape: ints = [4, 4]> (x)
            }
        """,
    ),
    (
        "statistics.scaled_and_shifted",
        ["Mul", "Add"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2] s = {1,2}, float[2] b = {0.5,1}, float[2] m = {1,2}, float[2] v = {0.25,1}> { y = BatchNormalization<epsilon = 0.0>(x, s, b, m, v) }",
        """
            <float[2,1,1] v1 = {2,2}, float[2,1,1] v3 = {-1.5,-3}>
            {
             v2 = Mul (x, v1)
             y = Add (v2, v3)
            }
        """,
    ),
    (
        "statistics.convolution_of_each_channel",
        ["Conv"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2] s = {1,2}, float[2] b = {0.5,1}, float[2] m = {1,2}, float[2] v = {0.25,1}> { y = BatchNormalization<epsilon = 0.0>(x, s, b, m, v) }",
        """
            <float[2,1,1,1] v1 = {2,2}, float[2] v2 = {-1.5,-3}>
            {
             y = Conv <group: int = 2, kernel_shape: ints = [1, 1]> (x, v1, v2)
            }
        """,
    ),
    (
        "statistics.deviation_from_the_mean",
        ["Sub", "ReduceMean", "Mul", "Div", "Sqrt", "Add"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2] s = {1,2}, float[2] b = {0.5,1}> { y = InstanceNormalization<epsilon = 0.5>(x, s, b) }",
        """
            <float v5 = {0.5}, float[2,1,1] v9 = {1,2}, float[2,1,1] v11 = {0.5,1}>
            {
             v1 = ReduceMean <axes: ints = [2, 3], keepdims: int = 1> (x)
             v2 = Sub (x, v1)
             v3 = Mul (v2, v2)
             v4 = ReduceMean <axes: ints = [2, 3], keepdims: int = 1> (v3)
             v6 = Add (v4, v5)
             v7 = Sqrt (v6)
             v8 = Div (v2, v7)
             v10 = Mul (v8, v9)
             y = Add (v10, v11)
            }
        """,
    ),
    (
        "statistics.over_one_last_axis",
        ["ReduceMean", "Reshape", "Transpose"],
        "[[rule]]\noperators = ['ReduceMean']\nattr = { axes = [-1] }",
        "g (float[2,3,4] x) => (float[2,4] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }",
        """
            <int64[2] v3 = {2,4}>
            {
             v1 = Transpose <perm: ints = [0, 2, 1]> (x)
             v2 = ReduceMean <axes: ints = [2], keepdims: int = 1> (v1)
             y = Reshape (v2, v3)
            }
        """,
    ),
    (
        "statistics.product_with_a_column",
        ["MatMul"],
        "",
        "g (float[2,4] x) => (float[2,1] y) { y = ReduceMean<axes = [1]>(x) }",
        "<float[4,1] v = {0.25,0.25,0.25,0.25}> { y = MatMul (x, v) }",
    ),
    (
        "statistics.product_with_a_column",
        ["MatMul", "Reshape"],
        "",
        "g (float[2,2] x) => (float[2] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 0>(x, a) }",
        "<float[2,1] v1 = {1,1}, int64[1] v2 = {2}> { sums = MatMul (x, v1) y = Reshape (sums, v2) }",
    ),
    (
        "statistics.product_of_a_matrix_with_a_column",
        ["MatMul", "Reshape"],
        "",
        "g (float[1,2,2,2] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }",
        """<int64[2] v1 = {2,4}, float[4,1] v2 = {0.25,0.25,0.25,0.25}, int64[4] v3 = {1,2,1,1}> {
            rows = Reshape (x, v1)
            means = MatMul (rows, v2)
            y = Reshape (means, v3)
        }""",
    ),
    (
        "statistics.product_of_a_matrix_with_a_column",
        ["MatMul", "Reshape"],
        "",
        "g (float[2,2,2] x) => (float[2] y) <int64[2] a = {1,2}> { y = ReduceSum<keepdims = 0>(x, a) }",
        """<int64[2] v1 = {2,4}, float[4,1] v2 = {1,1,1,1}, int64[1] v3 = {2}> {
            rows = Reshape (x, v1)
            sums = MatMul (rows, v2)
            y = Reshape (sums, v3)
        }""",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


def test_an_axis_given_twice_counts_once(tmp_path: Path) -> None:
    text = "g (float[2,3,4] x) => (float[A,B] y) { y = ReduceMean<axes = [-1, -1], keepdims = 0>(x) }"
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert same_as_written(tmp_path, ["ReduceSum", "Mul"], text, {"x": x}) == ["ReduceSum", "Mul"]


@pytest.mark.parametrize("text", [
    "g (int32[2,0,3] x) => (int32[A,B] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }",
    "g (int32[2,3] x) => (int32[A] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }",
    "g (float[2,0,3] x) => (float[A,B] y) { y = ReduceMean<axes = [1], keepdims = 0>(x) }",
    "g (float[2,0,3] x) => (float[A,B] y) { y = ReduceMean<axes = [2], keepdims = 0>(x) }",
    "g (float[2,0,3] x) => (float[A,B] y) { y = ReduceMax<axes = [2], keepdims = 0>(x) }",
])  # fmt: skip
def test_integers_and_nothing_have_no_other_mean(tmp_path: Path, text: str) -> None:
    allowed = ["Mul", "Reshape", "GlobalAveragePool", "GlobalMaxPool", *(["ReduceSum"] if "[2]" not in text else [])]
    assert "Reduce" in refused_for(tmp_path, allowed, model(text, 13))


@pytest.mark.parametrize("reduction", ["ReduceMean", "ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 2], [0, 1], [-2, -1], [0, 1, 2]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_that_are_reduced_become_the_last_one(reduction: str, axes: list[int], keepdims: int, tmp_path: Path) -> None:
    text = f"g (float[2,3,4] x) => (float[a] y) {{ t = {reduction}<axes = {axes}, keepdims = {keepdims}>(x) y = Reshape(t, f) }}"
    text = text.replace("(float[a] y) {", "(float[a] y) <int64[1] f = {-1}> {")
    feeds = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7}
    rule = f"[[rule]]\noperators = ['{reduction}']\nattr = {{ axes = [-1] }}"
    same_as_written(tmp_path, [reduction, "Reshape", "Transpose"], text, feeds, rule)


def test_a_float16_does_not_hold_the_squares_of_a_norm(tmp_path: Path) -> None:
    text = "g (float16[2,3] x) => (float16[2,1] y) { y = ReduceL2<axes = [1]>(x) }"
    assert "NPU 1 does not allow it" in refused_for(tmp_path, ["Mul", "ReduceSum", "Sqrt"], model(text, 13))


@pytest.mark.parametrize("value", [1e-3, 1.0, 300.0])
@pytest.mark.parametrize("count", [10, 768, 10_000])
def test_a_mean_of_float16_neither_overflows_nor_vanishes(value: float, count: int, tmp_path: Path) -> None:
    """In onnx.reference each node gives float16: a sum of 10,000 times 300 would be infinite, and 1e-7 at a time too small."""
    text = f"g (float16[1,{count}] x) => (float16[1,1] y) {{ y = ReduceMean<axes = [1]>(x) }}"
    result = rewriter.convert_version(model(text, 13), options=for_a_list(tmp_path, ["ReduceSum", "Mul"])).model
    (mean,) = run(result, {"x": np.full((1, count), value, np.float16)}, "onnx.reference")
    assert mean.item() == pytest.approx(value, rel=0.02)
