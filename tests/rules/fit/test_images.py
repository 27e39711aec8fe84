"""Convolutions, poolings and resizes in other forms of themselves, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import model

from split_rewrite import rewriter

TWICE = "[[rule]]\noperators = ['Resize']\nvalue = { scales = [[1, 1, 2, 2], [1, 1, 3, 3], [1, 1, 1, 2]] }"
REWRITES = [
    (
        "images.convolution_with_equal_weights",
        ["Conv"],
        "",
        "g (float[1,2,4,4] x) => (float[1,2,2,4] y) { y = AveragePool<kernel_shape = [2, 1], strides = [2, 1]>(x) }",
        """
            <float[2,1,2,1] w = {0.5, 0.5, 0.5, 0.5}>
            {
             y = Conv <group: int = 2, kernel_shape: ints = [2, 1], strides: ints = [2, 1]> (x, w)
            }
        """,
    ),
    (
        "images.small_windows_in_turn",
        ["MaxPool"],
        "[[rule]]\noperators = ['MaxPool']\nattr = { kernel_shape = { max = 3 } }",
        "g (float[1,2,8,8] x) => (float[1,2,8,6] y) { y = MaxPool<kernel_shape = [5, 3], pads = [2, 0, 2, 0]>(x) }",
        """
            {
             first = MaxPool <kernel_shape: ints = [3, 3], pads: ints = [1, 0, 1, 0]> (x)
             y = MaxPool <kernel_shape: ints = [3, 1], pads: ints = [1, 0, 1, 0]> (first)
            }
        """,
    ),
    (
        "images.with_pads",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { auto_pad = ['NOTSET'] }",
        'g (float[1,2,4,4] x) => (float[1,1,2,2] y) <float[1,2,1,1] w = {1,2}> { y = Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(x, w) }',
        """
            <float[1,2,1,1] v1 = {1,2}>
            {
             y = Conv <pads: ints = [0, 0, 0, 0], strides: ints = [2, 2]> (x, v1)
            }
        """,
    ),
    (
        "images.without_padding_to_count",
        ["AveragePool"],
        "[[rule]]\noperators = ['AveragePool']\nattr = { count_include_pad = [1] }",
        "g (float[1,2,4,4] x) => (float[1,2,2,2] y) { y = AveragePool<kernel_shape = [3, 3]>(x) }",
        """
            {
             y = AveragePool <count_include_pad: int = 1, kernel_shape: ints = [3, 3]> (x)
            }
        """,
    ),
    (
        "images.pooling_in_two_dimensions",
        ["AveragePool", "Reshape"],
        "[[rule]]\noperators = ['AveragePool']\nrank = { X = 4 }",
        "g (float[1,2,5] x) => (float[1,2,2] y) { y = AveragePool<kernel_shape = [3], strides = [2]>(x) }",
        """
            <int64[4] v1 = {1,2,1,5}, int64[3] v4 = {1,2,2}>
            {
             v2 = Reshape (x, v1)
             v3 = AveragePool <kernel_shape: ints = [1, 3], pads: ints = [0, 0, 0, 0], strides: ints = [1, 2]> (v2)
             y = Reshape (v3, v4)
            }
        """,
    ),
    (
        "images.with_whole_windows",
        ["MaxPool"],
        "[[rule]]\noperators = ['MaxPool']\nattr = { ceil_mode = [0] }",
        "g (float[1,2,4,4] x) => (float[1,2,2,2] y) { y = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1>(x) }",
        """
            {
             y = MaxPool <ceil_mode: int = 0, kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (x)
            }
        """,
    ),
    (
        "images.with_blocks_of_equal_pixels",
        ["Resize"],
        "[[rule]]\noperators = ['Resize']\nattr = { coordinate_transformation_mode = ['half_pixel'] }",
        'g (float[1,2,4,4] x) => (float[1,2,8,8] y) <float[4] s = {1,1,2,2}> { y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , s) }',
        """
            <float[4] v1 = {1,1,2,2}>
            {
             y = Resize <coordinate_transformation_mode: string = "half_pixel"> (x, "", v1)
            }
        """,
    ),
    (
        "images.transposed_convolution",
        ["ConvTranspose"],
        "",
        'g (float[1,2,4,4] x) => (float[1,2,8,8] y) <float[4] s = {1,1,2,2}> { y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , s) }',
        """
            <float[2,1,2,2] v1 = {1,1,1,1,1,1,1,1}>
            {
             y = ConvTranspose <group: int = 2, kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (x, v1)
            }
        """,
    ),
    (
        "images.with_padding_for_the_last_windows",
        ["MaxPool"],
        "[[rule]]\noperators = ['MaxPool']\nattr = { ceil_mode = [0] }",
        "g (float[1,2,5,6] x) => (float[1,2,2,3] y) { y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>(x) }",
        """
            {
             y = MaxPool <ceil_mode: int = 0, kernel_shape: ints = [3, 3], pads: ints = [0, 0, 0, 1], strides: ints = [2, 2]> (x)
            }
        """,
    ),
    (
        "images.transposed_blocks",
        ["Reshape", "Transpose"],
        "",
        "g (float[1,8,2,3] x) => (float[1,2,4,6] y) { y = DepthToSpace<blocksize = 2>(x) }",
        """
            <int64[6] v1 = {1,2,2,2,2,3}, int64[4] v4 = {1,2,4,6}>
            {
             v2 = Reshape (x, v1)
             v3 = Transpose <perm: ints = [0, 3, 4, 1, 5, 2]> (v2)
             y = Reshape (v3, v4)
            }
        """,
    ),
    (
        "images.averages_of_copied_pixels",
        ["Conv", "Mul", "Resize"],
        "[[rule]]\noperators = ['Resize']\nattr = { mode = ['nearest'] }",
        'g (float[1,1,1,2] x) => (float[1,1,1,4] y) <float[4] s = {1,1,1,2}> { y = Resize<mode = "linear">(x, , s) }',
        """
            <float[4] s = {1,1,1,2}, float[1,1,1,3] w = {0.25,0.5,0.25}, float[1,1,1,4] m = {1.33333337,1,1,1.33333337}>
            {
             copies = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s)
             averages = Conv <group: int = 1, kernel_shape = [1,3], pads = [0,1,0,1]> (copies, w)
             y = Mul (averages, m)
            }
        """,
    ),
    (
        "images.averages_of_averages",
        ["AveragePool"],
        "[[rule]]\noperators = ['AveragePool']\nattr = { kernel_shape = { max = 3 } }",
        "g (float[1,1,13,9] x) => (float[1,1,4,9] y) { y = AveragePool<kernel_shape = [6,1], strides = [2,1]>(x) }",
        """
            {
             first = AveragePool <kernel_shape = [2,1], strides = [2,1]> (x)
             y = AveragePool <kernel_shape = [3,1], strides = [1,1]> (first)
            }
        """,
    ),
    (
        "images.largest_of_the_largest",
        ["MaxPool"],
        "[[rule]]\noperators = ['MaxPool']\nattr = { kernel_shape = { max = 4 } }",
        "g (float[1,1,11,20] x) => (float[1,1,3,2] y) { y = MaxPool<kernel_shape = [4,9], strides = [3,9]>(x) }",
        """
            {
             first = MaxPool <kernel_shape = [1,3], strides = [1,3]> (x)
             y = MaxPool <kernel_shape = [4,3], strides = [3,3]> (first)
            }
        """,
    ),
    (
        "images.with_strides_of_one",
        ["MaxPool"],
        "[[rule]]\noperators = ['MaxPool']\nattr = { strides = { max = 2 } }",
        "g (float[1,1,3,4] x) => (float[1,1,1,2] y) { y = MaxPool<kernel_shape = [3,2], strides = [3,2]>(x) }",
        """
            {
             y = MaxPool <kernel_shape = [3,2], strides = [1,2]> (x)
            }
        """,
    ),
    (
        "images.repeated_pixels",
        ["Concat", "Reshape"],
        "",
        "g (float[1,2,2,3] x) => (float[1,2,4,3] y) <float[4] s = {1,1,2,1}> { y = Resize(x, , s) }",
        """<int64[3] v1 = {4,1,3}, int64[4] v2 = {1,2,4,3}> {
            apart = Reshape (x, v1)
            twice = Concat <axis = 1> (apart, apart)
            y = Reshape (twice, v2)
        }""",
    ),
    (
        "images.products_with_stored_weights",
        ["MatMul"],
        "",
        'g (float[1,2,2,3] x) => (float[1,2,4,1] y) <int64[4] z = {1,2,4,1}> { y = Resize<mode = "linear">(x, , , z) }',
        """<float[3,1] v1 = {0,1,0}, float[4,2] v2 = {1,0,0.75,0.25,0.25,0.75,0,1}> {
            narrow = MatMul (x, v1)
            y = MatMul (v2, narrow)
        }""",
    ),
    (
        "images.enlarged_in_turns",
        ["Resize"],
        TWICE,
        "g (float[1,2,2,3] x) => (float[1,2,8,12] y) <int64[4] z = {1,2,8,12}> { y = Resize(x, , , z) }",
        """<float[4] v = {1,1,2,2}> {
            twice = Resize (x, "", v)
            y = Resize (twice, "", v)
        }""",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    "attributes", ['coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', 'mode = "nearest"']
)
@pytest.mark.parametrize(("scales", "turns"), [((4, 4), 2), ((6, 6), 2), ((12, 12), 3), ((4, 8), 3), ((1, 8), 3)])
def test_pixels_are_repeated_in_turns(scales: tuple[int, int], turns: int, attributes: str, tmp_path: Path) -> None:
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 2, 2, 3), np.float32)}
    text = f"""g (float[1,2,2,3] x) => (float[1,2,{2 * scales[0]},{3 * scales[1]}] y) <float[4] s = {{1,1,{scales[0]},{scales[1]}}}> {{
        y = Resize<{attributes}>(x, , s) }}"""
    assert same_as_written(tmp_path, ["Resize"], text, feeds, TWICE) == ["Resize"] * turns


@pytest.mark.parametrize(
    "attributes", ['mode = "linear"', 'nearest_mode = "ceil"', 'coordinate_transformation_mode = "align_corners"']
)
def test_an_enlargement_that_does_not_repeat_pixels_has_no_turns(attributes: str, tmp_path: Path) -> None:
    text = f"g (float[1,2,2,3] x) => (float[1,2,8,12] y) <float[4] s = {{1,1,4,4}}> {{ y = Resize<{attributes}>(x, , s) }}"
    with pytest.raises(rewriter.UnconvertibleError, match=r"^Resize 'y' .*scales is"):
        rewriter.convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["Resize"], TWICE))


IN_A_ROW = [
    "MaxPool<kernel_shape = [3], strides = [2], pads = [1,0], ceil_mode = 1>",
    "MaxPool<kernel_shape = [2], dilations = [3]>",
    'MaxPool<kernel_shape = [2], strides = [2], auto_pad = "SAME_LOWER">',
    "AveragePool<kernel_shape = [3], pads = [0,2], count_include_pad = 1>",
    "AveragePool<kernel_shape = [3], strides = [3], pads = [1,1], ceil_mode = 1>",
]


@pytest.mark.parametrize("node", IN_A_ROW)
def test_pooling_along_one_axis(node: str, tmp_path: Path) -> None:
    op_type = node.partition("<")[0]
    rules = f"[[rule]]\noperators = ['{op_type}']\nrank = {{ X = 4 }}"
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 3, 7), np.float32)}
    operators = same_as_written(
        tmp_path, [op_type, "Reshape"], f"g (float[2,3,7] x) => (float[a,b,c] y) {{ y = {node}(x) }}", feeds, rules
    )
    assert operators == ["Reshape", op_type, "Reshape"]


def test_places_along_one_axis_are_refused(tmp_path: Path) -> None:
    text = "g (float[1,2,5] x) => (float[a,b,c] y, int64[a,b,c] i) { y, i = MaxPool<kernel_shape = [3]>(x) }"
    rules = "[[rule]]\noperators = ['MaxPool']\nrank = { X = 4 }"
    with pytest.raises(rewriter.UnconvertibleError, match=r"MaxPool 'y'.*rank"):
        rewriter.convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["MaxPool", "Reshape"], rules))


@pytest.mark.parametrize("size", [4, 5, 7, 8])
@pytest.mark.parametrize("pads", [(0, 0), (1, 2), (3, 3)])
def test_small_windows_see_what_the_large_one_sees(size: int, pads: tuple[int, int], tmp_path: Path) -> None:
    first, last = pads
    text = f"""g (float[1,1,9] x) => (float[1,1,{9 + first + last - size + 1}] y) {{
        y = MaxPool<kernel_shape = [{size}], pads = [{first}, {last}]>(x) }}"""
    x = np.array([3, -1, 4, -1, -5, 9, -2, -6, 5], np.float32).reshape(1, 1, 9)
    rule = "[[rule]]\noperators = ['MaxPool']\nattr = { kernel_shape = { max = 3 }, pads = { max = 2 } }"
    assert set(same_as_written(tmp_path, ["MaxPool"], text, {"x": x}, rule)) == {"MaxPool"}


@pytest.mark.parametrize("attributes", ["ceil_mode = 1, strides = [2]", "pads = [1, 0]", 'auto_pad = "SAME_UPPER"'])
def test_an_average_over_windows_that_are_cut_has_no_equal_weights(attributes: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,6] x) => (float[1,1,L] y) {{ y = AveragePool<kernel_shape = [3], {attributes}>(x) }}"
    assert "AveragePool 'y' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, ["Conv"], model(text, 13))


NEAREST = "[[rule]]\noperators = ['Resize']\nattr = { mode = ['nearest'] }"


@pytest.mark.parametrize("factors", [(2, 2), (3, 1), (1, 4), (8, 5)])
@pytest.mark.parametrize("mode", ["half_pixel", "pytorch_half_pixel", "asymmetric"])
def test_a_linear_enlargement_by_whole_factors_without_one(mode: str, factors: tuple[int, int], tmp_path: Path) -> None:
    scales = f"float[4] s = {{1, 1, {factors[0]}, {factors[1]}}}"
    text = f'g (float[1,2,3,4] x) => (float[1,2,?,?] y) <{scales}> {{ y = Resize<mode = "linear", coordinate_transformation_mode = "{mode}">(x, , s) }}'
    x = np.random.default_rng(1).uniform(1, 2, (1, 2, 3, 4)).astype(np.float32)
    assert same_as_written(tmp_path, ["Conv", "Mul", "Resize"], text, {"x": x}, NEAREST) == ["Resize", "Conv", "Mul"]


@pytest.mark.parametrize(
    "settings",
    ['mode = "linear", coordinate_transformation_mode = "align_corners"', 'mode = "cubic"'],
    ids=["align_corners", "cubic"],
)
def test_other_enlargements_are_no_averages_of_copies(settings: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {{1,1,2,2}}> {{ y = Resize<{settings}>(x, , s) }}"
    options = for_a_list(tmp_path, ["Conv", "Mul", "Resize"], NEAREST)
    with pytest.raises(rewriter.UnconvertibleError, match=r"Resize 'y' .* mode is"):
        rewriter.convert_version(model(text, 13), 13, options=options)


@pytest.mark.parametrize("pool", ["AveragePool", "MaxPool"])
@pytest.mark.parametrize(("size", "stride", "length"), [(12, 12, 31), (12, 4, 23), (6, 3, 14), (9, 9, 9), (8, 8, 20)])
def test_pools_of_large_windows_in_turns(pool: str, size: int, stride: int, length: int, tmp_path: Path) -> None:
    rules = f"[[rule]]\noperators = ['{pool}']\nattr = {{ kernel_shape = {{ max = 3 }} }}"
    text = f"g (float[1,1,{length},{length}] x) => (float[1,1,?,?] y) {{ y = {pool}<kernel_shape = [{size},{size}], strides = [{stride},{stride}]>(x) }}"
    x = np.random.default_rng(1).uniform(1, 2, (1, 1, length, length)).astype(np.float32)
    assert set(same_as_written(tmp_path, [pool], text, {"x": x}, rules)) == {pool}


@pytest.mark.parametrize(
    "settings", ["kernel_shape = [4,4], strides = [3,3]", "kernel_shape = [4,4], strides = [4,4], pads = [1,1,1,1]"]
)
def test_windows_that_do_not_consist_of_whole_smaller_ones_stay(settings: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,16,16] x) => (float[1,1,?,?] y) {{ y = AveragePool<{settings}>(x) }}"
    rules = "[[rule]]\noperators = ['AveragePool']\nattr = { kernel_shape = { max = 3 } }"
    with pytest.raises(rewriter.UnconvertibleError, match="kernel_shape is 4, not at most 3"):
        rewriter.convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["AveragePool"], rules))
