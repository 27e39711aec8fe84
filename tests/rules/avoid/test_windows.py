"""The rules that avoid forms of operators with windows, and what they write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, convert_version, known, model, run

from split_rewrite.rewriter import Options, UnconvertibleError

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
        "windows.reduce_open_axes",
        "Global pool of open lengths",
        13,
        "g (float[1,2,h,4] x) => (float[1,2,1,1] y) { y = GlobalAveragePool(x) }",
        "{ y = ReduceMean <axes = [2, 3], keepdims = 1> (x) }",
    ),
    (
        "windows.pad_first",
        "AveragePool with count_include_pad",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) { y = AveragePool<count_include_pad = 1, kernel_shape = [2], pads = [1,1]>(x) }",
        "<int64[6] pads = {0, 0, 1, 0, 0, 1}> { padded = Pad (x, pads) y = AveragePool <kernel_shape = [2]> (padded) }",
    ),
    (
        "windows.pad_the_last_window",
        "AveragePool with ceil_mode",
        13,
        "g (float[1,1,6] x) => (float[1,1,4] y) { y = AveragePool<kernel_shape = [3], strides = [2], pads = [1,1], ceil_mode = 1>(x) }",
        "{ y = AveragePool <kernel_shape = [3], pads = [1, 2], strides = [2]> (x) }",
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
        'g (float[1,1,N] x, float[1,1,3] w) => (float[1,1,M] y) { y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2]>(x, w) }',
        "{ y = ConvTranspose <strides = [2], pads = [0, 1]> (x, w) }",
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
        "windows.with_two_axes",
        "Window along one axis with unequal padding",
        13,
        "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,4] y) { y = Conv<pads = [4,0], dilations = [2]>(x, w) }",
        """
            <int64[1] axes = {2}>
            {
              plane = Unsqueeze (x, axes)
              weights = Unsqueeze (w, axes)
              of_two_axes = Conv <pads = [0, 4, 0, 0], dilations = [1, 2]> (plane, weights)
              y = Squeeze (of_two_axes, axes)
            }
        """,
    ),
    (
        "windows.convolve_two_axes",
        "Conv along one axis",
        13,
        "g (float[1,1,4] x, float[1,1,3] w) => (float[1,1,4] y) { y = Conv<pads = [1,1]>(x, w) }",
        """
            <int64[1] axes = {2}>
            {
              plane = Unsqueeze (x, axes)
              weights = Unsqueeze (w, axes)
              of_two_axes = Conv <pads = [0, 1, 0, 1]> (plane, weights)
              y = Squeeze (of_two_axes, axes)
            }
        """,
    ),
    (
        "windows.convolve_two_axes",
        "ConvTranspose along one axis",
        13,
        "g (float[1,1,4] x) => (float[1,1,5] y) <float[1,1,2] w = {1, 2}> { y = ConvTranspose(x, w) }",
        """
            <int64[1] axes = {2}, float[1,1,1,2] weights = {1, 2}>
            {
              plane = Unsqueeze (x, axes)
              of_two_axes = ConvTranspose (plane, weights)
              y = Squeeze (of_two_axes, axes)
            }
        """,
    ),
    (
        "windows.spread_weights",
        "ConvTranspose with dilations",
        13,
        "g (float[1,1,4] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}> "
        "{ y = ConvTranspose<kernel_shape = [2], dilations = [2]>(x, w) }",
        "<float[1,1,3] spread = {1, 0, 2}> { y = ConvTranspose <kernel_shape = [3]> (x, spread) }",
    ),
    (
        "windows.cut_result",
        "ConvTranspose with unequal padding",
        13,
        "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,4] y) { y = ConvTranspose<pads = [0,1]>(x, w) }",
        """
            <int64[1] starts = {0}, int64[1] ends = {-1}, int64[1] axes = {2}>
            {
              uncut = ConvTranspose (x, w)
              y = Slice (uncut, starts, ends, axes)
            }
        """,
    ),
    (
        "windows.pad_as_image",
        "Pad by copies, not of an image",
        13,
        'g (float[1,2,3] x) => (float[1,2,5] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> { y = Pad<mode = "reflect">(x, p) }',
        """
            <int64[8] pads = {0, 0, 0, 1, 0, 0, 0, 1}, int64[1] axes = {0}>
            {
              image = Unsqueeze (x, axes)
              padded = Pad <mode = "reflect"> (image, pads)
              y = Squeeze (padded, axes)
            }
        """,
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
    (
        "windows.pad_before_one_element",
        "Conv of one element with padding",
        13,
        "g (float[1,2,3,3] x) => (float[1,1,4,4] y) <float[1,2,1,1] w = {1, 2}> { y = Conv<pads = [0, 0, 1, 1]>(x, w) }",
        "<int64[8] pads = {0,0,0,0,0,0,1,1}, float[1,2,1,1] w = {1,2}> { padded = Pad (x, pads) y = Conv (padded, w) }",
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


@pytest.mark.parametrize("pads", [[-4, 2], [2, -4], [-5, 5]])
@pytest.mark.parametrize("shape", ["3", "N"])
@pytest.mark.parametrize("opset", [10, 21])
def test_a_pad_may_cut_off_what_it_adds(pads: list[int], shape: str, opset: int, tmp_path: Path) -> None:
    """onnxruntime adds one element; a Slice to nothing and a Pad by two would add two."""
    listed = str(pads)[1:-1]
    text = f"g (float[{shape}] x) => (float[M] y) <int64[2] p = {{{listed}}}> {{ y = Pad(x, p) }}"
    if opset < 11:
        text = f"g (float[{shape}] x) => (float[M] y) {{ y = Pad<pads = [{listed}]>(x) }}"
    before = model(text, opset)
    result = converted(before, "Pad by negative numbers", tmp_path)
    assert [node.op_type for node in result.graph.node] == ["Pad", "Slice"]
    for size in (3,) if shape == "3" else (2, 3, 6):
        feeds = {"x": np.arange(1, size + 1, dtype=np.float32)}
        np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


def test_a_pad_that_cuts_off_no_more_than_there_is_gets_less_to_pad(tmp_path: Path) -> None:
    text = "g (float[N,2] x) => (float[M,2] y) <int64[4] p = {-1, 0, -1, 1}> { y = Pad(x, p) }"
    result = converted(model(text, 13), "Pad by negative numbers", tmp_path)
    assert [node.op_type for node in result.graph.node] == ["Slice", "Pad"]


@pytest.mark.parametrize("kind", ["float8e4m3fn", "int4", "uint4"])
def test_types_that_a_slice_does_not_take_are_cut_between_casts(kind: str, tmp_path: Path) -> None:
    text = f"g ({kind}[3] x) => ({kind}[3] y) <int64[2] p = {{-1, 1}}> {{ y = Pad(x, p) }}"
    result = converted(model(text, max(known(21, 23)), ir_version=10), "Pad by negative numbers", tmp_path)
    assert [node.op_type for node in result.graph.node] == ["Cast", "Slice", "Cast", "Pad"]


def test_an_average_pool_of_less_than_a_window_is_refused(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 13], producer_name: "pytorch">
        g (float[1,1,0] x) => (float[1,1,M] y) { y = AveragePool<kernel_shape = [3], pads = [1,1]>(x) }"""
    form = "AveragePool that leaves padding out, exported by pytorch"
    with pytest.raises(
        UnconvertibleError, match="the window is longer than the axis with its padding, so the node fails if it runs"
    ):
        convert_version(model(text), 13, options=for_a_runtime(form, tmp_path))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('auto_pad = "SAME_UPPER"', "the padding is automatic, or it has ceil_mode or dilations"),
        ("pads = [1, 0]", "the axis dimension 'N' of 'x' is unknown"),
    ],
)
def test_an_average_pool_with_ceil_mode_needs_its_padding(attributes: str, message: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,N] x) => (float[1,1,M] y) {{ y = AveragePool<kernel_shape = [2], ceil_mode = 1, {attributes}>(x) }}"
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(model(text, 13), 13, options=for_a_runtime("AveragePool with ceil_mode", tmp_path))


def _means(x: np.ndarray, kernel: int, stride: int, before: int, after: int, dilation: int, counts: int) -> list[float]:
    """What an AveragePool with ceil_mode makes of a vector: windows begin in it or in front of it, and what lies behind counts never."""
    padded = np.pad(x, (before, after))
    counted = np.ones(padded.size) if counts else np.pad(np.ones(x.size), (before, after))
    starts = range(0, x.size + before, stride)
    longest = padded.size - (kernel - 1) * dilation - 1 + stride - 1
    windows = [
        range(start, min(start + (kernel - 1) * dilation + 1, padded.size), dilation) for start in starts if start <= longest
    ]
    return [padded[list(window)].sum() / counted[list(window)].sum() for window in windows]


@pytest.mark.parametrize("length", [3, 4, 5, 8])
@pytest.mark.parametrize("counts", [0, 1])
def test_an_average_pool_without_ceil_mode_is_the_same(length: int, counts: int, tmp_path: Path) -> None:
    """Also with a last window that would begin in the padding, which is none."""
    x = np.random.default_rng(1).integers(-8, 8, length).astype(np.float32)
    for kernel, stride, before, after in [(2, 2, 0, 0), (2, 2, 1, 0), (2, 3, 0, 1), (2, 3, 1, 1), (2, 1, 1, 1), (1, 2, 0, 0)]:
        text = f"""g (float[1,1,{length}] x) => (float[1,1,M] y) {{ y = AveragePool<kernel_shape = [{kernel}], strides = [{stride}],
            pads = [{before},{after}], ceil_mode = 1, count_include_pad = {counts}>(x) }}"""
        source = model(text, 19)
        result = converted(source, "AveragePool with ceil_mode", tmp_path)
        assert "ceil_mode" not in str(result.graph.node)
        expected = np.float32(_means(x, kernel, stride, before, after, 1, counts))
        np.testing.assert_array_equal(run(result, {"x": x[None, None]})[0][0, 0], expected)


def test_padding_as_long_as_the_window_is_refused(tmp_path: Path) -> None:
    """The second window begins at 3 and would read elements 3 and 7 of 6, but runtimes pad by less than the two of a window."""
    text = """g (float[1,1,6] x) => (float[1,1,M] y) {
        y = AveragePool<kernel_shape = [2], strides = [3], dilations = [4], ceil_mode = 1>(x) }"""
    with pytest.raises(UnconvertibleError, match="it has ceil_mode or dilations"):
        convert_version(model(text, 19), 19, options=for_a_runtime("AveragePool with ceil_mode", tmp_path))


@pytest.mark.parametrize(("length", "stride"), [(5, 1), (6, 2), (4, 2)])
def test_a_dilated_average_pool_without_ceil_mode_is_the_same(length: int, stride: int, tmp_path: Path) -> None:
    text = f"""g (float[1,1,{length}] x) => (float[1,1,M] y) {{
        y = AveragePool<kernel_shape = [2], strides = [{stride}], dilations = [2], ceil_mode = 1>(x) }}"""
    source, form = model(text, 19), "AveragePool with ceil_mode"
    x = np.arange(length, dtype=np.float32)
    expected = np.float32(_means(x, 2, stride, 0, 0, 2, 0))
    np.testing.assert_array_equal(run(converted(source, form, tmp_path), {"x": x[None, None]})[0][0, 0], expected)


POOLS = "Global pool of three axes or more"


def test_a_global_pool_of_two_axes_needs_no_shape(tmp_path: Path) -> None:
    before = model("g (float[A,B,C,D] x) => (float[A,B,1,1] y) { y = GlobalMaxPool(x) }", 13)
    assert converted(before, POOLS, tmp_path).graph.node == before.graph.node


def test_a_global_pool_of_an_open_batch(tmp_path: Path) -> None:
    before = model("g (float[A,B,4,2,3] x) => (float[A,B,1,1,1] y) { y = GlobalMaxPool(x) }", 13)
    result = converted(before, POOLS, tmp_path)
    for batch in (1, 2):
        feeds = {"x": np.random.default_rng(0).normal(size=(batch, 2, 4, 2, 3)).astype(np.float32)}
        np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


def test_a_global_pool_of_open_axes_is_refused(tmp_path: Path) -> None:
    before = model("g (float[1,2,A,2,3] x) => (float[1,2,1,1,1] y) { y = GlobalMaxPool(x) }", 13)
    with pytest.raises(UnconvertibleError, match="the axis dimension 'A' of 'x' is unknown"):
        converted(before, POOLS, tmp_path)


def test_the_weights_of_a_dilated_transposed_convolution_have_to_be_constant(tmp_path: Path) -> None:
    text = "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,6] y) { y = ConvTranspose<dilations = [2]>(x, w) }"
    with pytest.raises(UnconvertibleError, match="needs the weights as a constant"):
        converted(model(text, 13), "ConvTranspose with dilations", tmp_path)


WINDOWS = [
    "MaxPool<kernel_shape = [3], pads = [2,0], strides = [2], dilations = [2], ceil_mode = 1>(x)",
    "AveragePool<kernel_shape = [3], pads = [0,2], strides = [2]>(x)",
    'AveragePool<kernel_shape = [2], auto_pad = "SAME_UPPER">(x)',
    'Conv<auto_pad = "SAME_LOWER", group = 2, kernel_shape = [2]>(x, w)',
]


@pytest.mark.parametrize("call", WINDOWS)
def test_windows_along_one_axis_compute_the_same_along_two(call: str, tmp_path: Path) -> None:
    weights = ", float[2,1,2] w" if "w)" in call else ""
    before = model(f"g (float[1,2,L] x{weights}) => (float[1,2,M] y) {{ y = {call} }}", 19)
    result = converted(before, "Window along one axis with unequal padding", tmp_path)
    assert call.partition("<")[0] in [node.op_type for node in result.graph.node][1:-1]
    feeds = {"x": np.arange(14, dtype=np.float32).reshape(1, 2, 7), "w": np.array([[[1, 2]], [[3, 4]]], np.float32)}
    feeds = {value.name: feeds[value.name] for value in before.graph.input}
    np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


def test_the_places_of_the_maxima_are_those_of_one_axis(tmp_path: Path) -> None:
    before = model(
        "g (float[1,2,5] x) => (float[1,2,5] y, int64[1,2,5] i) { y, i = MaxPool<kernel_shape = [3], pads = [2,0]>(x) }", 13
    )
    result = converted(before, "Window along one axis with unequal padding", tmp_path)
    feeds = {"x": np.array([[[3, 1, 2, 5, 4], [0, 9, 8, 7, 6]]], np.float32)}
    for expected, got in zip(run(before, feeds), run(result, feeds), strict=True):
        np.testing.assert_array_equal(got, expected)


TRANSPOSED = [
    ("ConvTranspose along one axis", "pads = [1,2], strides = [2], output_padding = [1], dilations = [2], group = 2"),
    ("ConvTranspose along one axis", "strides = [2], output_shape = [9], kernel_shape = [3]"),
    ("ConvTranspose with unequal padding", "pads = [1,2], strides = [2], output_padding = [1]"),
    ("ConvTranspose with dilations", 'strides = [2], dilations = [3], auto_pad = "VALID"'),
]


@pytest.mark.parametrize(("form", "attributes"), TRANSPOSED)
def test_transposed_convolutions_compute_the_same(form: str, attributes: str, tmp_path: Path) -> None:
    weights = "float[2,1,3] w = {1, -2, 3, 4, 5, -6}"
    text = f"g (float[1,2,L] x) => (float[1,C,M] y) <{weights}> {{ y = ConvTranspose<{attributes}>(x, w) }}"
    before = model(text, 13)
    result = converted(before, form, tmp_path)
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(1, 2, 4)}
    np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


@pytest.mark.parametrize("mode", ["reflect", "edge"])
@pytest.mark.parametrize(("shape", "pads"), [("4,5", "3,0,0,2"), ("L,4,5", "0,1,2,0,0,1")])
@pytest.mark.parametrize("opset", [10, 13])
def test_a_pad_by_copies_gives_the_same_for_an_image(mode: str, shape: str, pads: str, opset: int, tmp_path: Path) -> None:
    rank = shape.count(",") + 1
    results = ",".join("ABC"[:rank])
    text = (
        f"""g (float[{shape}] x) => (float[{results}] y) <int64[{2 * rank}] p = {{{pads}}}> {{ y = Pad<mode = "{mode}">(x, p) }}"""
    )
    if opset < 11:
        text = f"""g (float[{shape}] x) => (float[{results}] y) {{ y = Pad<mode = "{mode}", pads = [{pads}]>(x) }}"""
    before = model(text, opset)
    result = converted(before, "Pad by copies, not of an image", tmp_path)
    feeds = {"x": np.arange(20 * (rank - 1), dtype=np.float32).reshape((2, 4, 5)[3 - rank :])}
    np.testing.assert_array_equal(run(result, feeds)[0], run(before, feeds)[0])


def test_padding_that_does_not_count_is_not_cut_off(tmp_path: Path) -> None:
    text = "g (float[1,1,3,3] x, float[1,1,3,3] w) => (float[1,1,4,4] y) { y = ConvTranspose<output_shape = [4,4], pads = [1,2,0,1]>(x, w) }"
    before = model(text, 13)
    assert converted(before, "ConvTranspose with unequal padding", tmp_path).graph.node == before.graph.node


@pytest.mark.parametrize("compare", ["model", "nodes"])
def test_zeros_between_weights_are_no_difference_beside_infinities(compare: str) -> None:
    """0 times infinity is NaN, where the dilated operator multiplies nothing."""
    text = """g (float[1,1,1,9] x) => (float[1,1,1,13] y) <float[1,1,1,3] w = {1, 2, 3}> {
        y = ConvTranspose<dilations = [1, 2]>(x, w) }"""
    options = Options(for_runtimes=("opencv-4.12",), verify=False)
    result = convert_version(model(text, 19), options=options, compare=compare)
    assert result.report.comparison.status == "equal"
    assert "windows.spread_weights" in result.report.applied
