"""Convolutions with large kernels, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list
from helpers import convert_version, model, run
from onnx import numpy_helper

from split_rewrite import rewriter

UP_TO = "[[rule]]\noperators = ['Conv']\nattr = {{ kernel_shape = {{ max = {} }}, dilations = {{ max = {} }} }}\nconst = ['W']"


def vector(count: int) -> str:
    return ",".join(map(str, range(1, count + 1)))


REWRITES = [
    (
        "large_kernels.in_parts_of_seven",
        ["Conv", "Slice", "Add"],
        UP_TO.format(7, 1),
        f"g (float[1,1,1,9] x) => (float[1,1,1,2] y) <float[1,1,1,8] w = {{{vector(8)}}}, float[1] b = {{5}}> {{ y = Conv(x, w, b) }}",
        """
            <float[1] b = {5}, int64[2] v1 = {0,0}, int64[2] v2 = {1,5}, int64[2] axes = {2,3}, float[1,1,1,4] v3 = {1,2,3,4},
             int64[2] v4 = {0,4}, int64[2] v5 = {1,9}, float[1,1,1,4] v6 = {5,6,7,8}>
            {
             left = Slice (x, v1, v2, axes) one = Conv <kernel_shape = [1,4]> (left, v3, b)
             right = Slice (x, v4, v5, axes) other = Conv <kernel_shape = [1,4]> (right, v6)
             y = Add (one, other)
            }
        """,
    ),
    (
        "large_kernels.in_parts_of_three",
        ["Conv", "Slice", "Add"],
        UP_TO.format(3, 1),
        f"g (float[1,1,1,4] x) => (float[1,1,1,2] y) <float[1,1,1,4] w = {{{vector(4)}}}> {{ y = Conv<pads = [0,1,0,0], strides = [1,1]>(x, w) }}",
        """
            <float[1,1,1,2] v1 = {1,2}, int64[2] v2 = {0,0}, int64[2] v3 = {1,2}, int64[2] v4 = {0,1}, int64[2] v5 = {1,4},
             int64[2] axes = {2,3}, float[1,1,1,2] v6 = {3,4}>
            {
             left = Slice (x, v2, v3, axes) one = Conv <kernel_shape = [1,2], pads = [0,1,0,0], strides = [1,1]> (left, v1)
             right = Slice (x, v4, v5, axes) other = Conv <kernel_shape = [1,2], strides = [1,1]> (right, v6)
             y = Add (one, other)
            }
        """,
    ),
    (
        "large_kernels.in_overlapping_parts_of_three",
        ["Conv", "Add"],
        UP_TO.format(3, 1),
        f"g (float[1,1,1,4] x) => (float[1,1,1,4] y) <float[1,1,1,4] w = {{{vector(4)}}}> {{ y = Conv<pads = [0,1,0,2]>(x, w) }}",
        """
            <float[1,1,1,3] v1 = {1,2,3}, float[1,1,1,3] v2 = {0,0,4}>
            {
             one = Conv <kernel_shape = [1,3], pads = [0,1,0,1]> (x, v1)
             other = Conv <kernel_shape = [1,3], pads = [0,0,0,2]> (x, v2)
             y = Add (one, other)
            }
        """,
    ),
    (
        "large_kernels.in_parts_of_three_of_what_is_cut",
        ["Conv", "Slice", "Add"],
        "[[rule]]\noperators = ['Conv']\nattr = { kernel_shape = [[1, 3]] }",
        f"g (float[1,1,1,9] x) => (float[1,1,1,3] y) <float[1,1,1,5] w = {{{vector(5)}}}> {{ y = Conv<strides = [1,2]>(x, w) }}",
        """
            <int64[2] v1 = {0,0}, int64[2] v2 = {1,7}, int64[2] axes = {2,3}, float[1,1,1,3] v3 = {1,2,3}, int64[2] v4 = {0,2},
             int64[2] v5 = {1,9}, float[1,1,1,3] v6 = {0,4,5}>
            {
             left = Slice (x, v1, v2, axes) one = Conv <kernel_shape = [1,3], strides = [1,2]> (left, v3)
             right = Slice (x, v4, v5, axes) other = Conv <kernel_shape = [1,3], strides = [1,2]> (right, v6)
             y = Add (one, other)
            }
        """,
    ),
    (
        "large_kernels.in_overlapping_parts_of_seven",
        ["Conv", "Add"],
        UP_TO.format(7, 1),
        f"g (float[1,1,1,4] x) => (float[1,1,1,1] y) <float[1,1,1,8] w = {{{vector(8)}}}, float[1] b = {{5}}> {{ y = Conv<pads = [0,3,0,1]>(x, w, b) }}",
        """
            <float[1] b = {5}, float[1,1,1,7] v1 = {1,2,3,4,5,6,7}, float[1,1,1,7] v2 = {0,0,0,0,0,0,8}>
            {
             one = Conv <kernel_shape = [1,7], pads = [0,3,0,0]> (x, v1, b)
             other = Conv <kernel_shape = [1,7], pads = [0,2,0,1]> (x, v2)
             y = Add (one, other)
            }
        """,
    ),
    (
        "large_kernels.in_single_elements",
        ["Conv", "Slice", "Add"],
        UP_TO.format(2, 1),
        "g (float[1,1,1,4] x) => (float[1,1,1,1] y) <float[1,1,1,2] w = {2,3}> { y = Conv<dilations = [1,3]>(x, w) }",
        """
            <int64[2] v1 = {0,0}, int64[2] v2 = {1,1}, int64[2] axes = {2,3}, float[1,1,1,1] v3 = {2}, int64[2] v4 = {0,3},
             int64[2] v5 = {1,4}, float[1,1,1,1] v6 = {3}>
            {
             left = Slice (x, v1, v2, axes) one = Conv <kernel_shape = [1,1]> (left, v3)
             right = Slice (x, v4, v5, axes) other = Conv <kernel_shape = [1,1]> (right, v6)
             y = Add (one, other)
            }
        """,
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    ("kernel", "settings"),
    [
        ((10, 4), ""),
        ((10, 4), "pads = [5,1,5,1], strides = [2,2]"),
        ((9, 9), "pads = [9,8,4,0], strides = [3,1]"),
        ((3, 3), "pads = [12,12,12,12], dilations = [12,12]"),
        ((3, 3), "pads = [7,0,9,5], dilations = [5,2], strides = [2,1]"),
        ((8, 3), "pads = [14,0,14,0], strides = [1,2]"),
        ((8, 3), "group = 2, pads = [1,1,1,1]"),
        ((5, 4), "pads = [2,1,3,2], strides = [2,1]"),
        ((4, 5), "group = 2, pads = [3,2,1,4], dilations = [1,2]"),
    ],
)
@pytest.mark.parametrize("most", [(7, 4), (3, 2), (3, 1)])
def test_the_sum_of_the_parts_is_the_whole(kernel: tuple[int, int], settings: str, most: tuple[int, int], tmp_path: Path) -> None:
    text = (
        f"g (float[2,4,13,11] x) => (float[2,6,H,W] y) <float[1] w = {{0}}, float[1] b = {{0}}> {{ y = Conv<{settings}>(x, w, b) }}"
    )
    proto = model(text.replace("<>", ""), 13)
    random = np.random.default_rng(5)
    weights = random.integers(-3, 4, (6, 2 if "group" in settings else 4, *kernel)).astype(np.float32)
    bias = np.arange(6, dtype=np.float32)
    del proto.graph.initializer[:]
    proto.graph.initializer.extend([numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
    options = for_a_list(tmp_path, ["Conv", "Slice", "Add"], UP_TO.format(*most))
    result = convert_version(proto, 13, options=options).model
    x = random.integers(-9, 10, (2, 4, 13, 11)).astype(np.float32)
    np.testing.assert_array_equal(run(result, {"x": x})[0], run(proto, {"x": x})[0])  # small integers: no sum rounds
    shapes = [attribute.ints for node in result.graph.node for attribute in node.attribute if attribute.name == "kernel_shape"]
    assert max(map(max, shapes), default=0) <= most[0]


def test_a_kernel_of_many_parts_is_refused(tmp_path: Path) -> None:
    weights = ",".join(["1"] * 36 * 36)
    text = f"g (float[1,1,40,40] x) => (float[1,1,5,5] y) <float[1,1,36,36] w = {{{weights}}}> {{ y = Conv(x, w) }}"
    options = for_a_list(tmp_path, ["Conv", "Slice", "Add"], UP_TO.format(3, 1))
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(model(text, 13), 13, options=options)
