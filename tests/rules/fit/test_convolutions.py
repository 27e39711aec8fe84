"""Convolutions without padding, dilations or transposition, and what is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import model
from onnx import numpy_helper

from split_rewrite import rewriter
from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance

NO_PADS = "[[rule]]\noperators = ['{}']\nattr = {{ 'pads[*]' = [0] }}"
DENSE = "[[rule]]\noperators = ['Conv']\nattr = { 'dilations[*]' = [1] }"
EQUAL_PADS = "[[rule]]\noperators = ['Conv']\nattr = { pads = [[1, 2, 1, 2]] }"
SMALL = DENSE.replace("}", ", kernel_shape = { max = 2 } }")
STEPS_OF_TWO = "[[rule]]\noperators = ['Conv']\nattr = { strides = { max = 2 } }"
REWRITES = [
    (
        "convolutions.padded_with_zeros",
        ["Conv", "Pad"],
        NO_PADS.format("Conv"),
        "g (float[1,2,3,3] x) => (float[1,1,2,3] y) <float[1,2,2,2] w = {1,2,3,4,5,6,7,8}> { y = Conv<pads = [0, 0, 0, 1]>(x, w) }",
        "<float[1,2,2,2] w = {1,2,3,4,5,6,7,8}, int64[8] p = {0,0,0,0,0,0,0,1}> { padded = Pad (x, p) y = Conv (padded, w) }",
    ),
    (
        "convolutions.padded_with_infinity",
        ["MaxPool", "Pad"],
        NO_PADS.format("MaxPool"),
        "g (float[1,2,3,3] x) => (float[1,2,2,3] y) { y = MaxPool<kernel_shape = [2, 2], pads = [0, 0, 0, 1]>(x) }",
        """<int64[8] p = {0,0,0,0,0,0,0,1}, float v = {-inf}> {
            padded = Pad (x, p, v)
            y = MaxPool <kernel_shape = [2, 2]> (padded)
        }""",
    ),
    (
        "convolutions.blocks_of_a_convolution",
        ["Conv", "DepthToSpace"],
        "",
        """g (float[1,2,3,3] x) => (float[1,1,6,6] y) <float[2,1,2,2] w = {1,2,3,4,5,6,7,8}, float[1] b = {5}> {
            y = ConvTranspose<strides = [2, 2]>(x, w, b)
        }""",
        """<float[4,2,1,1] v1 = {1,5,2,6,3,7,4,8}, float[4] v2 = {5,5,5,5}> {
            blocks = Conv <kernel_shape = [1, 1]> (x, v1, v2)
            y = DepthToSpace <blocksize = 2> (blocks)
        }""",
    ),
    (
        "convolutions.convolution_of_spread_pixels",
        ["Conv", "Pad", "Reshape"],
        "",
        """g (float[1,1,3,3] x) => (float[1,1,5,3] y) <float[1,1,2,3] w = {1,2,3,4,5,6}> {
            y = ConvTranspose<strides = [2, 1], pads = [1, 1, 0, 1]>(x, w)
        }""",
        """<int64[4] v1 = {1,3,1,3}, int64[8] v2 = {0,0,0,0,0,0,1,0}, int64[4] v3 = {1,1,6,3}, float[1,1,2,3] v4 = {6,5,4,3,2,1}> {
            apart = Reshape (x, v1)
            padded = Pad (apart, v2)
            spread = Reshape (padded, v3)
            y = Conv <kernel_shape = [2, 3], pads = [0, 1, 0, 1]> (spread, v4)
        }""",
    ),
    (
        "convolutions.convolution_of_masked_copies",
        ["Conv", "Mul", "Resize"],
        "",
        """g (float[1,1,2,3] x) => (float[1,1,4,3] y) <float[1,1,2,3] w = {1,2,3,4,5,6}> {
            y = ConvTranspose<strides = [2, 1], pads = [0, 1, 0, 1]>(x, w)
        }""",
        """<float[4] s = {1,1,2,1}, float[1,1,4,3] mask = {1,1,1,0,0,0,1,1,1,0,0,0}, float[1,1,2,3] v1 = {6,5,4,3,2,1}> {
            copies = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s)
            spread = Mul (copies, mask)
            y = Conv <kernel_shape = [2, 3], pads = [1, 1, 0, 1]> (spread, v1)
        }""",
    ),
    (
        "convolutions.convolutions_of_each_phase",
        ["Conv", "Pad", "Reshape", "Slice", "Transpose"],
        SMALL,
        "g (float[1,1,5,4] x) => (float[1,1,3,4] y) <float[1,1,2,1] w = {1,2}> { y = Conv<dilations = [2, 1]>(x, w) }",
        """<float[1,1,2,1] w = {1,2}, int64[8] p = {0,0,0,0,0,0,1,0}, int64[6] v1 = {1,1,3,2,4,1}, int64[4] v2 = {2,1,3,4},
            int64[6] v3 = {1,2,1,1,2,4}, int64[4] v4 = {1,1,4,4}, int64[2] starts = {0,0}, int64[2] ends = {3,4}, int64[2] axes = {2,3}> {
            padded = Pad (x, p)
            apart = Reshape (padded, v1)
            moved = Transpose <perm = [0, 3, 5, 1, 2, 4]> (apart)
            phases = Reshape (moved, v2)
            found = Conv <kernel_shape = [2, 1]> (phases, w)
            split = Reshape (found, v3)
            back = Transpose <perm = [0, 3, 4, 1, 5, 2]> (split)
            images = Reshape (back, v4)
            y = Slice (images, starts, ends, axes)
        }""",
    ),
    (
        "convolutions.blocks_of_a_padded_convolution",
        ["Conv", "DepthToSpace"],
        "",
        """g (float[1,1,3,3] x) => (float[1,1,6,6] y) <float[1,1,2,4] w = {1,2,3,4,5,6,7,8}, float[1] b = {5}> {
            y = ConvTranspose<strides = [2, 2], pads = [0, 1, 0, 1]>(x, w, b)
        }""",
        """<float[4,1,1,3] v1 = {4,2,0,0,3,1,8,6,0,0,7,5}, float[4] v2 = {5,5,5,5}> {
            blocks = Conv <kernel_shape = [1, 3], pads = [0, 1, 0, 1]> (x, v1, v2)
            y = DepthToSpace <blocksize = 2> (blocks)
        }""",
    ),
    (
        "convolutions.dense_groups",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { group = [1] }",
        "g (float[1,4,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {2,3,4,5}> { y = Conv<group = 2>(x, w) }",
        "<float[2,4,1,1] v = {2,3,0,0,0,0,4,5}> { y = Conv (x, v) }",
    ),
    (
        "convolutions.zeros_between_weights",
        ["Conv"],
        DENSE,
        "g (float[1,1,5,4] x) => (float[1,1,3,4] y) <float[1,1,2,1] w = {1,2}> { y = Conv<dilations = [2, 1]>(x, w) }",
        "<float[1,1,3,1] v = {1,0,2}> { y = Conv <kernel_shape = [3, 1]> (x, v) }",
    ),
    (
        "convolutions.convolution_of_chosen_channels",
        ["Conv"],
        "",
        "g (float[1,3,2,2] x) => (float[1,2,2,2] y) <int64[2] i = {-1,0}> { y = Gather<axis = 1>(x, i) }",
        "<float[2,3,1,1] w = {0,0,1,1,0,0}> { y = Conv <kernel_shape = [1, 1]> (x, w) }",
    ),
    (
        "convolutions.convolution_of_chosen_channels",
        ["Conv", "Reshape"],
        "",
        "g (float[2,3,2] x) => (float[2,3,1] y) <int64[1] i = {-1}> { y = Gather<axis = 2>(x, i) }",
        """<float[1,2,1,1] w = {0,1}, int64[4] pixels = {6,2,1,1}, int64[3] shape = {2,3,1}> {
            all = Reshape (x, pixels)
            found = Conv <kernel_shape = [1, 1]> (all, w)
            y = Reshape (found, shape)
        }""",
    ),
    (
        "convolutions.convolution_of_chosen_channels",
        ["Conv", "Reshape"],
        "",
        "g (float[3,2] x) => (float[2] y) <int64 i = {1}> { y = Gather<axis = 0>(x, i) }",
        """<float[1,3,1,1] w = {0,1,0}, int64[4] pixels = {1,3,2,1}, int64[1] shape = {2}> {
            all = Reshape (x, pixels)
            found = Conv <kernel_shape = [1, 1]> (all, w)
            y = Reshape (found, shape)
        }""",
    ),
    (
        "convolutions.square_kernel",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { kernel_shape = [[2, 2]] }",
        "g (float[1,1,4,4] x) => (float[1,1,3,4] y) <float[1,1,2,1] w = {1,2}> { y = Conv<dilations = [1, 2]>(x, w) }",
        "<float[1,1,2,2] v = {1,0,2,0}> { y = Conv <dilations = [1, 2], kernel_shape = [2, 2], pads = [0, 0, 0, 2]> (x, v) }",
    ),
    (
        "convolutions.square_kernel",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { kernel_shape = [[3, 3]] }",
        "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,1,3] w = {1,2,3}> { y = Conv<pads = [0, 1, 0, 1]>(x, w) }",
        "<float[1,1,3,3] v = {0,0,0,1,2,3,0,0,0}> { y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, v) }",
    ),
    (
        "convolutions.every_second_pixel",
        ["Conv", "Slice"],
        STEPS_OF_TWO,
        "g (float[1,1,9,4] x) => (float[1,1,3,1] y) <float[1,1,2,1] w = {1,2}> { y = Conv<strides = [4, 4], pads = [0, 0, 1, 0]>(x, w) }",
        """<float[1,1,2,1] w = {1,2}, int64[2] first = {0,0}, int64[2] last = {5,1}, int64[2] axes = {2,3}, int64[2] two = {2,2}> {
            all = Conv <kernel_shape = [2, 1], pads = [0, 0, 1, 0], strides = [2, 2]> (x, w)
            y = Slice (all, first, last, axes, two)
        }""",
    ),
    (
        "convolutions.with_equal_pads",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { pads = [[0, 0, 0, 0], [1, 1, 1, 1]] }",
        "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,2,2] w = {1,2,3,4}> { y = Conv<pads = [0, 1, 1, 0]>(x, w) }",
        "<float[1,1,3,3] v = {0,0,0,1,2,0,3,4,0}> { y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, v) }",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


IMAGES = {"x": np.random.default_rng(0).integers(-9, 10, (1, 4, 5, 6)).astype(np.float32)}


@pytest.mark.parametrize(
    ("allowed", "attributes", "weights", "rules"),
    [
        (["Conv", "Pad", "Reshape"], "strides = [2, 3], dilations = [2, 1], pads = [1, 0, 2, 0]", "4,3,3,3", ""),
        (["Conv", "Pad", "Reshape"], "strides = [2, 2], output_padding = [1, 0], group = 2", "4,1,2,3", ""),
        (["Conv", "DepthToSpace"], "strides = [3, 3]", "4,2,3,3", ""),
        (["Conv", "DepthToSpace"], "strides = [2, 2], pads = [1, 1, 0, 0], output_padding = [1, 1]", "4,2,2,2", ""),
        (["Conv", "DepthToSpace"], "strides = [3, 3], pads = [1, 0, 1, 2]", "4,2,5,5", ""),
        (["Conv"], "pads = [0, 2, 1, 0], strides = [2, 1]", "2,4,2,3", EQUAL_PADS),
        (["Conv", "Pad", "Reshape", "Slice", "Transpose"], "dilations = [2, 3], pads = [2, 3, 1, 0]", "2,4,2,2", SMALL),
        (["Conv", "Reshape", "Transpose"], "dilations = [1, 2], group = 2", "2,2,2,2", SMALL),
        (["Conv", "Slice"], "strides = [2, 4], group = 2, dilations = [1, 2], pads = [1, 0, 0, 3]", "2,2,2,2", STEPS_OF_TWO),
        (["Conv", "Slice"], 'strides = [4, 4], auto_pad = "VALID"', "2,4,1,2", STEPS_OF_TWO),
        (["Conv", "Slice"], 'strides = [4, 4], auto_pad = "SAME_UPPER"', "2,4,2,2", STEPS_OF_TWO),
    ],
)
def test_random_weights_give_the_same(allowed: list[str], attributes: str, weights: str, rules: str, tmp_path: Path) -> None:
    op = "Conv" if rules else "ConvTranspose"
    sizes = [int(size) for size in weights.split(",")]
    values = np.random.default_rng(1).integers(-4, 5, sizes).reshape(-1).tolist()
    text = f"g (float[1,4,5,6] x) => (float[1,?,?,?] y) <float[{weights}] w = {{{','.join(map(str, values))}}}> {{ y = {op}<{attributes}>(x, w) }}"
    assert op not in set(same_as_written(tmp_path, allowed, text, IMAGES, rules)) - set(allowed)


WEIGHTS = "<float[1,1,2,2] w = {1,2,3,4}>"


@pytest.mark.parametrize(
    ("text", "allowed", "reason"),
    [
        (
            f"g (float[1,1,H,3] x) => (float[1,1,?,?] y) {WEIGHTS} {{ y = ConvTranspose(x, w) }}",
            ["Conv", "Pad", "Reshape"],
            "the shape (1, 1, H, 3) of 'x' is not fully known",
        ),
        (
            "g (float[1,1,3,3] x, float[1,1,2,2] w) => (float[1,1,4,4] y) { y = ConvTranspose(x, w) }",
            ["Conv", "Pad", "Reshape"],
            "not among",
        ),
        (
            f"g (float[1,1,3,3] x) => (float[1,1,?,?] y) {WEIGHTS} {{ y = ConvTranspose<pads = [2, 2, 0, 0]>(x, w) }}",
            ["Conv", "Pad"],
            "not among",
        ),
        (
            "g (float[1,1,6,6] x) => (float[1,1,?,?] y) { y = MaxPool<kernel_shape = [3,3], dilations = [2,2], pads = [1,1,1,1]>(x) }",
            ["Pad"],
            "not among",
        ),
    ],
    ids=["open", "weights of run time", "more cut off than the kernel reaches", "a dilated maximum"],
)
def test_what_has_no_other_form(text: str, allowed: list[str], reason: str, tmp_path: Path) -> None:
    assert reason in refused_for(tmp_path, allowed, model(text, 13))


@pytest.mark.parametrize("attributes", ["strides = [4, 3]", "strides = [8, 8]"])
def test_a_stride_that_has_no_half(attributes: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,9,9] x) => (float[1,1,?,?] y) {WEIGHTS} {{ y = Conv<{attributes}>(x, w) }}"
    with pytest.raises(rewriter.UnconvertibleError, match="does not allow it: strides is"):
        rewriter.convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["Conv", "Slice"], STEPS_OF_TWO))


def test_a_group_too_large_to_be_dense_is_refused(tmp_path: Path) -> None:
    proto = model("g (float[1,4096,2,2] x) => (float[1,4096,2,2] y) { y = Conv<group = 4096>(x, w) }", 13)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((4096, 1, 1, 1), np.float32), "w"))
    options = for_a_list(tmp_path, ["Conv"], "[[rule]]\noperators = ['Conv']\nattr = { group = [1] }")
    with pytest.raises(rewriter.UnconvertibleError, match="group is 4096, not 1; there is no other form of this Conv"):
        rewriter.convert_version(proto, 13, options=options)


def test_infinities_do_not_count_where_weights_of_zero_came_in_and_numbers_do(tmp_path: Path) -> None:
    dense = model("g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {2,0,0,3}> { y = Conv(x, w) }", 13)
    wrong = model("g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {2,1,0,3}> { y = Conv(x, w) }", 13)
    paths = {name: tmp_path / f"{name}.onnx" for name in ("apart", "dense", "wrong")}
    apart = model("g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,1,1,1] w = {2,3}> { y = Conv<group = 2>(x, w) }", 13)
    for path, proto in zip(paths.values(), (apart, dense, wrong), strict=True):
        onnx.save(proto, path)
    tolerance = Tolerance(inexact=True, sums=True)
    assert compare(paths["apart"], paths["dense"], tolerance=tolerance, thorough=True).status == "different"
    assert compare(paths["apart"], paths["dense"], tolerance=replace(tolerance, zeros=True), thorough=True).status == "equal"
    assert compare(paths["apart"], paths["wrong"], tolerance=replace(tolerance, zeros=True), thorough=True).status == "different"


CHANNELS = "g (float[1,3,2,2] x) => (float[?,?,?,?] y)"


@pytest.mark.parametrize(
    "text",
    [
        f"{CHANNELS} <int64[1] i = {{3}}> {{ y = Gather<axis = 1>(x, i) }}",
        f"{CHANNELS} <int64[1] i = {{-4}}> {{ y = Gather<axis = 1>(x, i) }}",
        "g (float[1,3,2] x) => (float[1,1,2] y) <int64[1] i = {1}> { y = Gather<axis = 1>(x, i) }",
        "g (float[1,3,2,2] x) => (float[1,2,2] y) <int64 i = {1}> { y = Gather<axis = 1>(x, i) }",
        "g (int32[1,3,2,2] x) => (int32[1,1,2,2] y) <int64[1] i = {1}> { y = Gather<axis = 1>(x, i) }",
    ],
    ids=["out of range", "below the range", "no image", "one channel without its axis", "integers"],
)
def test_what_is_not_channels_of_images_needs_its_gather(text: str, tmp_path: Path) -> None:
    assert "Gather 'y' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, ["Conv"], model(text, 13))


def test_rows_are_cut_by_convolutions(tmp_path: Path) -> None:
    text = f"{CHANNELS} <int64[1] i = {{1}}> {{ y = Gather<axis = 2>(x, i) }}"
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    assert same_as_written(tmp_path, ["Conv"], text, {"x": x}) == ["Conv"]


def test_one_channel_of_many_takes_no_square_of_their_number(tmp_path: Path) -> None:
    text = "g (float[1,65536,1,1] x) => (float[1,1,1,1] y) <int64[1] i = {5}> { y = Gather<axis = 1>(x, i) }"
    result = rewriter.convert_version(model(text, 13), 13, compare="off", options=for_a_list(tmp_path, ["Conv"])).model
    assert [tensor.dims[:] for tensor in result.graph.initializer] == [[1, 65536, 1, 1]]


def test_below_opset_10_a_slice_has_no_steps(tmp_path: Path) -> None:
    text = f"g (float[1,1,9,9] x) => (float[1,1,?,?] y) {WEIGHTS} {{ y = Conv<strides = [4, 4]>(x, w) }}"
    with pytest.raises(rewriter.UnconvertibleError, match=r"strides is 4, not at most 2; not by large_kernels"):
        rewriter.convert_version(model(text, 9), 9, options=for_a_list(tmp_path, ["Conv", "Slice"], STEPS_OF_TWO))


def test_a_split_along_the_channels_needs_only_convolutions(tmp_path: Path) -> None:
    text = "g (float[1,4,5,6] x) => (float[1,1,5,6] y, float[1,3,5,6] z) <int64[2] s = {1,3}> { y, z = Split<axis = 1>(x, s) }"
    assert same_as_written(tmp_path, ["Conv"], text, IMAGES) == ["Conv", "Conv"]


def test_a_kernel_that_would_become_large_is_left_alone(tmp_path: Path) -> None:
    """It would have 512·512·49·49 weights."""
    proto = model("g (float[1,512,1,1] x) => (float[1,512,H,W] y) <float[1] w = {0}> { y = Conv<pads = [48, 48, 0, 0]>(x, w) }", 13)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros((512, 512, 1, 1), np.float32), "w"))
    options = for_a_list(tmp_path, ["Conv"], "[[rule]]\noperators = ['Conv']\nattr = { pads = [[48, 48, 48, 48]] }")
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it"):
        rewriter.convert_version(proto, 13, options=options)
