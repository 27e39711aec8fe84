"""Nodes of many dimensions with fewer, for lists of operators that limit their number, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import Row, assert_fits, for_a_list, same_as_written
from helpers import convert_version, model
from hypothesis import given, settings
from hypothesis import strategies as st

from split_rewrite import rewriter

MOST_4 = """[all]
rank = { "*" = { max = 4 } }"""
REWRITES = [
    (
        "fewer_axes.blocks",
        ["Transpose", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,4,3,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,4,3,30}> { r = Reshape(x, h) t = Transpose<perm = [0, 2, 1, 3, 4]>(r) y = Reshape(t, b) }",
        """
            <int64[4] v2 = {2,4,3,30}>
            {
             v1 = Transpose <perm: ints = [0, 2, 1, 3]> (x)
             y = Reshape (v1, v2)
            }
        """,
    ),
    (
        "fewer_axes.elementwise",
        ["Add", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,4,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,4,30}, float[3,1,1,1] c = {1,2,3}> { r = Reshape(x, h) t = Add(r, c) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {2,3,120}, float[1,3,1] v3 = {1,2,3}, int64[4] v5 = {2,3,4,30}>
            {
             v2 = Reshape (x, v1)
             v4 = Add (v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "fewer_axes.like_elementwise",
        ["Where", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,4,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,4,30}, bool[3,1,1,1] c = {1,0,1}, float z = {0}> { r = Reshape(x, h) t = Where(c, r, z) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {2,3,120}, bool[1,3,1] v3 = {1,0,1}, float v4 = {0}, int64[4] v6 = {2,3,4,30}>
            {
             v2 = Reshape (x, v1)
             v5 = Where (v3, v2, v4)
             y = Reshape (v5, v6)
            }
        """,
    ),
    (
        "fewer_axes.with_one_scale",
        ["QuantizeLinear", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (uint8[2,3,4,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,4,30}, float s = {0.5}> { r = Reshape(x, h) t = QuantizeLinear(r, s) y = Reshape(t, b) }",
        """
            <int64[1] v1 = {720}, float v3 = {0.5}, int64[4] v5 = {2,3,4,30}>
            {
             v2 = Reshape (x, v1)
             v4 = QuantizeLinear (v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "fewer_axes.along_one_axis",
        ["Softmax", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,4,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,4,30}> { r = Reshape(x, h) t = Softmax<axis = 2>(r) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,4,30}, int64[4] v4 = {2,3,4,30}>
            {
             v2 = Reshape (x, v1)
             v3 = Softmax <axis: int = 1> (v2)
             y = Reshape (v3, v4)
            }
        """,
    ),
    (
        "fewer_axes.between_slices",
        ["Slice", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,1,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,1,30}, int64[1] s = {1}, int64[1] e = {2}, int64[1] a = {-3}> { r = Reshape(x, h) t = Slice(r, s, e, a) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,4,30}, int64[1] v3 = {1}, int64[1] v4 = {2}, int64[1] v5 = {1}, int64[4] v7 = {2,3,1,30}>
            {
             v2 = Reshape (x, v1)
             v6 = Slice (v2, v3, v4, v5)
             y = Reshape (v6, v7)
            }
        """,
    ),
    (
        "fewer_axes.between_slices",
        ["Slice", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,1,30] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,1,30}, int32[1] s = {1}, int32[1] e = {2}, int32[1] a = {-3}> { r = Reshape(x, h) t = Slice(r, s, e, a) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,4,30}, int32[1] v3 = {1}, int32[1] v4 = {2}, int32[1] v5 = {1}, int64[4] v7 = {2,3,1,30}>
            {
             v2 = Reshape (x, v1)
             v6 = Slice (v2, v3, v4, v5)
             y = Reshape (v6, v7)
            }
        """,
    ),
    (
        "fewer_axes.between_extremes",
        ["ReduceMax", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,18] y) <int64[5] h = {2,3,4,5,6}, int64[2] b = {2,18}> { r = Reshape(x, h) t = ReduceMax<axes = [2, 3], keepdims = 0>(r) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,20,6}, int64[3] v4 = {2,3,6}, int64[2] v6 = {2,18}>
            {
             v2 = Reshape (x, v1)
             v3 = ReduceMax <axes: ints = [1], keepdims: int = 1> (v2)
             v5 = Reshape (v3, v4)
             y = Reshape (v5, v6)
            }
        """,
    ),
    (
        "fewer_axes.between_sums",
        ["ReduceSum", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,30] y) <int64[5] h = {2,3,4,5,6}, int64[3] b = {2,3,30}, int64[1] a = {2}> { r = Reshape(x, h) t = ReduceSum(r, a) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,4,30}, int64[1] v3 = {1}, int64[3] v5 = {2,3,30}>
            {
             v2 = Reshape (x, v1)
             v4 = ReduceSum <keepdims: int = 1> (v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "fewer_axes.batches",
        ["MatMul", "Reshape"],
        MOST_4,
        "g (float[2,3,4,30] x) => (float[2,3,4,10] y) <int64[5] h = {2,3,4,5,6}, int64[4] b = {2,3,4,10}, float[6,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { r = Reshape(x, h) t = MatMul(r, w) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {24,5,6}, float[6,2] v3 = {1,2,3,4,5,6,7,8,9,10,11,12}, int64[4] v5 = {2,3,4,10}>
            {
             v2 = Reshape (x, v1)
             v4 = MatMul (v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "fewer_axes.repeated",
        ["Expand", "Reshape"],
        MOST_4,
        "g (float[2,3,4] x) => (float[2,12,4] y) <int64[5] h = {2,3,1,2,2}, int64[5] s = {2,3,4,2,2}, int64[3] b = {2,12,4}> { r = Reshape(x, h) t = Expand(r, s) y = Reshape(t, b) }",
        """
            <int64[3] v1 = {6,1,4}, int64[3] v3 = {6,4,4}, int64[3] v5 = {2,12,4}>
            {
             v2 = Reshape (x, v1)
             v4 = Expand (v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "fewer_axes.from_its_source",
        ["Relu", "Reshape"],
        MOST_4,
        "g (float[2,3,4] x) => (float[24] y) <int64[5] h = {2,3,1,2,2}, int64[1] b = {24}> { r = Reshape(x, h) t = Reshape(r, b) y = Relu(t) }",
        """
            <int64[1] v1 = {24}>
            {
             v2 = Reshape (x, v1)
             y = Relu (v2)
            }
        """,
    ),
]


def refused(folder: Path, allowed: list[str], text: str) -> str:
    with pytest.raises(rewriter.UnconvertibleError) as caught:
        convert_version(model(text, 13), 13, options=for_a_list(folder, allowed, MOST_4))
    return str(caught.value)


def test_an_output_of_many_dimensions_is_refused(tmp_path: Path) -> None:
    message = refused(
        tmp_path, ["Reshape"], "g (float[24] x) => (float[2,3,1,2,2] y) <int64[5] h = {2,3,1,2,2}> { y = Reshape(x, h) }"
    )
    assert "the rank of 'y' is 5, not at most 4" in message


def test_an_operator_without_a_form_of_fewer_dimensions_is_refused(tmp_path: Path) -> None:
    text = """g (float[24] x) => (int64[5,n] y) <int64[5] h = {2,3,1,2,2}> { r = Reshape(x, h) y = NonZero(r) }"""
    assert "the rank of 'r' is 5, not at most 4" in refused(tmp_path, ["Reshape", "NonZero"], text)


@pytest.mark.parametrize("opset", [11, 12])
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_a_softmax_over_all_axes_from_one_on_is_refused(op_type: str, opset: int, tmp_path: Path) -> None:
    text = f"g (float[24,3] x) => (float[24,3] y) <int64[5] h = {{2,3,2,2,3}}, int64[2] b = {{24,3}}> {{ r = Reshape(x, h) t = {op_type}(r) y = Reshape(t, b) }}"
    with pytest.raises(rewriter.UnconvertibleError, match="the rank of 'r' is 5, not at most 4"):
        convert_version(model(text, opset), opset, options=for_a_list(tmp_path, [op_type, "Reshape"], MOST_4))


def test_open_and_empty_dimensions_are_refused(tmp_path: Path) -> None:
    text = "g (float[n,2,2,3] x) => (float[n,2,2,3] y) <int64[5] h = {-1,2,2,3,1}, int64[4] b = {-1,2,2,3}> { r = Reshape(x, h) t = Relu(r) y = Reshape(t, b) }"
    assert "the rank of 'r' is 5, not at most 4" in refused(tmp_path, ["Reshape", "Relu"], text)
    assert "the rank of 'r' is 5, not at most 4" in refused(
        tmp_path, ["Reshape", "Relu"], text.replace("n,", "0,").replace("-1,", "0,")
    )


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


OPERATORS = {
    "Relu": "t = Relu(r)",
    "Add": "t = Add(r, c)",
    "Where": "m = Less(r, c) t = Where(m, r, c)",
    "Transpose": "t = Transpose<perm = {perm}>(r)",
    "Softmax": "t = Softmax<axis = {axis}>(r)",
    "Concat": "t = Concat<axis = {axis}>(r, r)",
    "Split": "p, q = Split<axis = {axis}>(d) t = Concat<axis = {axis}>(q, p)",
    "Gather": "t = Gather<axis = {axis}>(r, zero)",
    "Slice": "t = Slice(d, first, last, some)",
    "ReduceMax": "t = ReduceMax<axes = [{axis}, {other}], keepdims = {keep}>(r)",
    "ReduceSum": "t = ReduceSum<keepdims = {keep}>(r, some)",
    "MatMul": "u = Transpose<perm = [0, 1, 2, 3, 5, 4]>(r) t = MatMul(r, u)",
    "Expand": "t = Expand(r, large)",
    "Squeeze": "u = Unsqueeze(r, zero_axis) t = Squeeze(u, zero_axis)",
}
LENGTHS = st.lists(st.sampled_from([1, 1, 2, 3]), min_size=6, max_size=6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(OPERATORS)), LENGTHS, st.permutations(range(6)), st.integers(0, 1), st.integers(0, 6))
def test_all_values_get_at_most_four_dimensions_and_keep_their_elements(
    tmp_path_factory: pytest.TempPathFactory, operator: str, shape: list[int], perm: list[int], keep: int, first: int
) -> None:
    weights = [1] * first + shape[first:]
    large = [2 if length == 1 and axis == perm[0] else length for axis, length in enumerate(shape)]
    body = OPERATORS[operator].format(axis=perm[0], other=(perm[0] + 1) % 6, perm=[*perm], keep=keep)
    numbers = ", ".join(str(number - 3) for number in range(int(np.prod(weights))))
    text = f"""g (float[{np.prod(shape)}] x) => (float[n] y)
        <int64[6] h = {{{",".join(map(str, shape))}}}, int64[1] flat = {{-1}}, int64 zero = {{0}}, int64[1] zero_axis = {{0}},
         float[{",".join(map(str, weights))}] c = {{{numbers}}}, int64[1] first = {{1}}, int64[1] last = {{3}},
         int64[1] some = {{{perm[0]}}}, int64[6] large = {{{",".join(map(str, large))}}}>
        {{ r = Reshape(x, h) d = Concat<axis = {perm[0]}>(r, r) {body} y = Reshape(t, flat) }}"""
    allowed = ["Relu", "Add", "Less", "Where", "Transpose", "Softmax", "Concat", "Split", "Gather", "Slice", "Reshape"]
    allowed += ["ReduceMax", "ReduceSum", "MatMul", "Expand"]
    folder = tmp_path_factory.mktemp("list")
    feeds = {"x": np.arange(np.prod(shape), dtype=np.float32) - 2}
    same_as_written(folder, allowed, text, feeds, MOST_4)
    result = convert_version(model(text, 13), 13, options=for_a_list(folder, allowed, MOST_4)).model
    inferred = onnx.shape_inference.infer_shapes(result, strict_mode=True, data_prop=True)
    assert all(len(value.type.tensor_type.shape.dim) <= 4 for value in inferred.graph.value_info)
