"""Padding and cutting of images by convolutions, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import convert_version, known, model, run

RING = "[[rule]]\noperators = ['Conv']\nattr = { pads = [[0, 0, 0, 0], [1, 1, 1, 1]], kernel_shape = [[1, 1], [3, 3]], strides = [[1, 1], [2, 2]] }"
REWRITES = [
    (
        "single_pixels.convolution_of_single_pixels",
        ["Conv"],
        "",
        "g (float[1,2,3,3] x) => (float[1,2,5,4] y) <int64[8] p = {0,0,1,0,0,0,1,1}> { y = Pad(x, p) }",
        """
            <float[2,1,1,1] v1 = {1,1}>
            {
             y = Conv <group: int = 2, kernel_shape: ints = [1, 1], pads: ints = [1, 0, 1, 1]> (x, v1)
            }
        """,
    ),
    (
        "single_pixels.rings_of_zeros",
        ["Conv"],
        "[[rule]]\noperators = ['Conv']\nattr = { pads = [0, 1] }",
        "g (float[1,2,3,3] x) => (float[1,2,5,5] y) <int64[8] p = {0,0,1,0,0,0,1,2}> { y = Pad(x, p) }",
        """
            <float[2,1,1,1] v1 = {1,1}>
            {
             ring = Conv <group: int = 2, kernel_shape: ints = [1, 1], pads: ints = [1, 0, 1, 1]> (x, v1)
             y = Conv <group: int = 2, kernel_shape: ints = [1, 1], pads: ints = [0, 0, 0, 1]> (ring, v1)
            }
        """,
    ),
    (
        "single_pixels.convolutions_that_cut",
        ["Conv"],
        "",
        """
            g (float[1,1,9,9] x) => (float[1,1,4,6] y)
            <int64[2] s = {1,3}, int64[2] e = {8,9}, int64[2] a = {2,3}, int64[2] t = {2,1}> { y = Slice(x, s, e, a, t) }
        """,
        """
            <float[1,1,2,3] v1 = {0,0,0,0,0,1}, float[1,1,1,2] v2 = {0,1}>
            {
             first = Conv <group: int = 1, kernel_shape: ints = [2, 3]> (x, v1)
             y = Conv <group: int = 1, kernel_shape: ints = [1, 2], strides: ints = [2, 1]> (first, v2)
            }
        """,
    ),
    (
        "single_pixels.channels_into_blocks",
        ["ConvTranspose"],
        "",
        "g (float[1,4,2,3] x) => (float[1,1,4,6] y) { y = DepthToSpace<blocksize = 2>(x) }",
        """
            <float[4,1,2,2] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}>
            { y = ConvTranspose <kernel_shape = [2,2], strides = [2,2]> (x, w) }
        """,
    ),
    (
        "single_pixels.blocks_into_channels",
        ["Conv"],
        "",
        "g (float[1,1,4,6] x) => (float[1,4,2,3] y) { y = SpaceToDepth<blocksize = 2>(x) }",
        """
            <float[4,1,2,2] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}>
            { y = Conv <kernel_shape = [2,2], strides = [2,2]> (x, w) }
        """,
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    "slice_",
    [
        "g (float[1,2,4,4] x) => (float[1,1,3,4] y) <int64[2] s = {0,0}, int64[2] e = {1,3}, int64[2] a = {1,2}> { y = Slice(x, s, e, a) }",
        "g (float[1,2,4,4] x) => (float[1,2,3,4] y) <int64[1] s = {3}, int64[1] e = {0}, int64[1] a = {2}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
        "g (float[1,2,4,4] x, int64[1] s) => (float[1,2,?,4] y) <int64[1] e = {4}, int64[1] a = {2}> { y = Slice(x, s, e, a) }",
        "g (int32[1,2,4,4] x) => (int32[1,2,3,4] y) <int64[1] s = {1}, int64[1] e = {4}, int64[1] a = {2}> { y = Slice(x, s, e, a) }",
        "g (float[2,4,4] x) => (float[2,3,4] y) <int64[1] s = {1}, int64[1] e = {4}, int64[1] a = {1}> { y = Slice(x, s, e, a) }",
        "g (float[1,1,40,4] x) => (float[1,1,1,4] y) <int64[1] s = {39}, int64[1] e = {40}, int64[1] a = {2}> { y = Slice(x, s, e, a) }",
    ],
    ids=["channels", "backward", "computed", "integers", "no images", "more than a few pixels"],
)
def test_what_is_not_cut_by_convolutions(slice_: str, tmp_path: Path) -> None:
    assert "Slice" in refused_for(tmp_path, ["Conv"], model(slice_, 13))


def test_channels_in_another_order_stay_so(tmp_path: Path) -> None:
    text = "g (float[1,3,4,4] x) => (float[1,3,4,4] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1] a = {1}> { y = Slice(x, s, e, a, s) }"
    x = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4)
    assert same_as_written(tmp_path, ["Conv"], text, {"x": x}) == ["Conv"]


@pytest.mark.parametrize("padding", ['<mode = "edge"> (x, p)', "(x, p, one)"], ids=["edge", "ones"])
def test_what_is_not_padded_in_rings(padding: str, tmp_path: Path) -> None:
    text = (
        f"g (float[1,1,4,4] x) => (float[1,1,8,8] y) <int64[8] p = {{0,0,2,2,0,0,2,2}}, float one = {{1}}> {{ y = Pad {padding} }}"
    )
    assert "Pad" in refused_for(tmp_path, ["Conv"], model(text, 13))


@pytest.mark.parametrize("steps", [(1, 1), (2, 3), (5, 7)])
@pytest.mark.parametrize(
    ("first", "last"), [((0, 0), (9, 8)), ((1, 0), (9, 8)), ((0, 3), (7, 8)), ((4, 2), (5, 7)), ((2, 2), (7, 6))]
)
def test_every_range_of_pixels(steps: tuple[int, int], first: tuple[int, int], last: tuple[int, int], tmp_path: Path) -> None:
    vectors = {"s": first, "e": last, "a": (-2, 3), "t": steps}
    stored = ", ".join(f"int64[2] {name} = {{{numbers[0]}, {numbers[1]}}}" for name, numbers in vectors.items())
    x = np.random.default_rng(3).standard_normal((2, 3, 9, 8)).astype(np.float32)
    text = f"g (float[2,3,9,8] x) => (float[2,3,?,?] y) <{stored}> {{ y = Slice(x, s, e, a, t) }}"
    assert set(same_as_written(tmp_path, ["Conv"], text, {"x": x})) == {"Conv"}


@pytest.mark.parametrize(
    "settings", ["pads = [2,2,2,2]", "pads = [3,3,3,3], strides = [2,2], group = 2", "pads = [0,0,0,0], strides = [2,2]"]
)
@pytest.mark.parametrize("size", [5, 7])
def test_a_large_kernel_for_a_list_of_small_ones(size: int, settings: str, tmp_path: Path) -> None:
    channels = 1 if "group" in settings else 2
    random = np.random.default_rng(size)
    weights = ",".join(str(value) for value in random.integers(-3, 4, 4 * channels * size * size))
    x = random.integers(-9, 10, (1, 2, 11, 11)).astype(np.float32)
    kernel = f"float[4,{channels},{size},{size}] w = {{{weights}}}, float[4] b = {{1,2,3,4}}"
    text = f"g (float[1,2,11,11] x) => (float[1,4,?,?] y) <{kernel}> {{ y = Conv<{settings}>(x, w, b) }}"
    assert set(same_as_written(tmp_path, ["Conv", "Add"], text, {"x": x}, RING)) == {"Conv", "Add"}


ZEROS_AND_OTHERS = """g (float[1,1,9,9] x) => (float[1,1,5,5] y, float[1,1,5,5] z) <float[1,1,5,5] w = {%s}, float[1,1,5,5] v = {%s}> {
    y = Conv(x, w) z = Conv(x, v) }"""


@pytest.mark.parametrize("numbers", [("0", "1"), ("1", "0")], ids=["zeros first", "zeros last"])
def test_a_kernel_of_zeros_is_no_other_form(numbers: tuple[str, str], tmp_path: Path) -> None:
    text = ZEROS_AND_OTHERS % tuple(",".join([number] * 25) for number in numbers)
    x = np.arange(81, dtype=np.float32).reshape(1, 1, 9, 9)
    assert set(same_as_written(tmp_path, ["Conv", "Add"], text, {"x": x}, RING)) == {"Conv", "Add"}


@pytest.mark.parametrize(
    "node", ["Conv(x, w)", "AveragePool<kernel_shape = [6, 6], strides = [6, 6]>(x)"], ids=["Conv", "AveragePool"]
)
def test_a_window_longer_than_its_data_is_refused(node: str, tmp_path: Path) -> None:
    ones = ",".join(["1"] * 36)
    text = f"g (float[1,1,4,4] x) => (float[1,1,a,b] y) <float[1,1,6,6] w = {{{ones}}}> {{ y = {node} }}"
    assert "does not allow it" in refused_for(tmp_path, ["Conv", "Add", "Slice"], model(text, 13), RING)


@pytest.mark.parametrize(
    ("node", "allowed"),
    [
        ('DepthToSpace<blocksize = 3, mode = "CRD">', "ConvTranspose"),
        ("DepthToSpace<blocksize = 3>", "ConvTranspose"),
        ("SpaceToDepth<blocksize = 2>", "Conv"),
    ],
)
def test_blocks_keep_their_order(node: str, allowed: str, tmp_path: Path) -> None:
    text = f"g (float[2,18,4,6] x) => (float[?,?,?,?] y) {{ y = {node}(x) }}"
    feeds = {"x": np.random.default_rng(5).standard_normal((2, 18, 4, 6)).astype(np.float32)}
    assert same_as_written(tmp_path, [allowed], text, feeds) == [allowed]


@pytest.mark.skipif(not known(28), reason="onnx has no opset 28")
def test_blocks_of_opset_28_keep_their_order(tmp_path: Path) -> None:
    """SpaceToDepth has the mode CRD from there on: the channels of each block follow each other."""
    proto = model('g (float[2,3,4,6] x) => (float[2,12,2,3] y) { y = SpaceToDepth<blocksize = 2, mode = "CRD">(x) }', 28)
    result = convert_version(proto, None, options=for_a_list(tmp_path, ["Conv"])).model
    x = np.random.default_rng(5).standard_normal((2, 3, 4, 6)).astype(np.float32)
    wanted = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)
    assert [node.op_type for node in result.graph.node] == ["Conv"]
    np.testing.assert_array_equal(run(result, {"x": x})[0], wanted)


@pytest.mark.parametrize(
    ("node", "allowed", "message"),
    [
        ("int8[1,1,4,4] x) => (int8[1,4,2,2] y) { y = SpaceToDepth<blocksize = 2>(x) }", "Conv", "SpaceToDepth 'y'"),
        ("double[1,4,2,2] x) => (double[1,1,4,4] y) { y = DepthToSpace<blocksize = 2>(x) }", "ConvTranspose", "DepthToSpace 'y'"),
    ],
    ids=["integers", "doubles"],
)
def test_blocks_of_other_types_are_refused(node: str, allowed: str, message: str, tmp_path: Path) -> None:
    assert f"{message} (main graph): NPU 1 does not allow it" in refused_for(tmp_path, [allowed], model(f"g ({node}", 13))
