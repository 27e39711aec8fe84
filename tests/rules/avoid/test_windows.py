"""The rules that avoid forms of operators with windows, and what they write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites, convert_version, model

from split_rewrite.rewriter import UnconvertibleError

REWRITES = [
    (
        "windows.pool_two_axes",
        "Global pool of three axes or more",
        13,
        "g (float[1,2,3,4,5] x) => (float[1,2,1,1,1] y) { y = GlobalMaxPool(x) }",
        """
            <int64[4] plane = {1, 2, 3, 20}, int64[5] shape = {1, 2, 1, 1, 1}>
            {
              in_two_axes = Reshape (x, plane)
              of_two_axes = GlobalMaxPool (in_two_axes)
              y = Reshape (of_two_axes, shape)
            }
        """,
    ),
    (
        "windows.pad_first",
        "AveragePool with count_include_pad",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<count_include_pad = 1, kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}> { padded = Pad (x, pads) y = AveragePool <kernel_shape = [2]> (padded) }",
    ),
    (
        "windows.pad_norm_first",
        "LpPool with padding",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = LpPool<kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}> { padded = Pad (x, pads) y = LpPool <kernel_shape = [2]> (padded) }",
    ),
    (
        "windows.weigh_padded",
        "AveragePool that leaves padding out, exported by pytorch",
        13,
        '<ir_version: 8, opset_import: ["" : 13], producer_name: "pytorch"> '
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}, float[5] factor = {2, 1, 1, 1, 2}> "
        "{ padded = Pad (x, pads) mean = AveragePool <kernel_shape = [2]> (padded) y = Mul (mean, factor) }",
    ),
    (
        "windows.state_lower_pads",
        "auto_pad SAME_LOWER",
        13,
        'g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,4] y) { y = Conv<auto_pad = "SAME_LOWER">(x, w) }',
        "{ y = Conv <pads = [1, 0]> (x, w) }",
    ),
    (
        "windows.state_upper_pads",
        "auto_pad SAME_UPPER",
        13,
        'g (float[1,1,4] x) => (float[1,1,2] y) { y = MaxPool<auto_pad = "SAME_UPPER", kernel_shape = [3], strides = [2]>(x) }',
        "{ y = MaxPool <kernel_shape = [3], strides = [2], pads = [0, 1]> (x) }",
    ),
    (
        "windows.state_upper_pads",
        "auto_pad SAME_UPPER",
        13,
        'g (float[1,1,3] x, float[1,1,4] w) => (float[1,1,6] y) { y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2]>(x, w) }',
        "{ y = ConvTranspose <strides = [2], pads = [1, 1]> (x, w) }",
    ),
    (
        "windows.state_pads",
        "ConvTranspose with output_shape",
        13,
        "g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,3] y) { y = ConvTranspose<output_shape = [3]>(x, w) }",
        "{ y = ConvTranspose <pads = [1, 1]> (x, w) }",
    ),
    (
        "windows.cut_by_slice",
        "Pad by negative numbers",
        13,
        "g (float[3] x) => (float[3] y) <int64[2] p = {-1, 1}> { y = Pad(x, p) }",
        """
            <int64[1] starts = {1}, int64[1] ends = {9223372036854775807}, int64[2] pads = {0, 1}>
            {
              cut = Slice (x, starts, ends)
              y = Pad (cut, pads)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize("op_type", ["MaxPool", "LpPool", "AveragePool"])
@pytest.mark.parametrize(
    ("semantics", "message"),
    [
        (None, "onnxruntime pads as if the window were not dilated"),
        ("specification", "dilations together with auto_pad=SAME_UPPER"),
    ],
)
def test_a_dilated_pool_with_automatic_padding_has_two_meanings(
    op_type: str, semantics: str | None, message: str, tmp_path: Path
) -> None:
    text = f'g (float[1,1,7] x) => (float[1,1,N] y) {{ y = {op_type}<kernel_shape = [3], dilations = [2], auto_pad = "SAME_UPPER">(x) }}'
    options = replace(for_a_runtime("auto_pad SAME_UPPER", tmp_path), semantics=semantics)
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(model(text, 19), 19, options=options)


def test_a_pad_that_cuts_more_than_there_is_and_adds_to_the_other_side_is_refused(tmp_path: Path) -> None:
    """onnxruntime adds one element then; a Slice to nothing and a Pad by two would add two."""
    text = "g (float[3] x) => (float[1] y) <int64[2] p = {-4, 2}> { y = Pad(x, p) }"
    with pytest.raises(UnconvertibleError, match="pads cut 4 elements off axis 0, which has 3, and add others"):
        convert_version(model(text, 13), 13, options=for_a_runtime("Pad by negative numbers", tmp_path))
