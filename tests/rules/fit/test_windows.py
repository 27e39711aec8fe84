"""Windows and blocks: what is written for them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import convert_version, model, run

PRODUCTS = ["MatMul", "Gather", "Reshape", "Add", "Pad"]
REWRITES = [
    (
        "windows.product_with_gathered_windows",
        PRODUCTS,
        "",
        "g (float[1,1,3] x, float[2,1,2] w, float[2] b) => (float[1,2,2] y) { y = Conv<pads = [1,0], strides = [2]>(x, w, b) }",
        """
            <int64[6] pads = {0,0,1,0,0,0}, int64[2,2] places = {0,2,1,3}, int64[3] seen = {1,2,2}, int64[2] matrix = {2,2},
             int64[2] column = {2,1}>
            {
             padded = Pad (x, pads) gathered = Gather <axis = 2> (padded, places) windows = Reshape (gathered, seen)
             kernel = Reshape (w, matrix) product = MatMul (kernel, windows) bias = Reshape (b, column) y = Add (product, bias)
            }
        """,
    ),
    (
        "windows.transposed_convolution_of_single_pixels",
        ["ConvTranspose"],
        "",
        "g (float[1,4,2,3] x) => (float[1,1,4,6] y) { y = DepthToSpace<blocksize = 2>(x) }",
        """
            <float[4,1,2,2] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}>
            { y = ConvTranspose <kernel_shape = [2,2], strides = [2,2]> (x, w) }
        """,
    ),
    (
        "windows.convolution_of_single_pixels_of_blocks",
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
    ("data", "weights", "settings"),
    [
        ((2, 4, 7, 6), (6, 4, 3, 2), "pads = [1,0,2,1], strides = [2,1], dilations = [1,2]"),
        ((2, 4, 9), (6, 2, 3), "pads = [1,0], strides = [2], group = 2"),
        ((1, 4, 9, 5, 4), (4, 1, 3, 2, 2), "group = 4"),
        ((3, 2, 5, 5), (1, 2, 5, 5), 'auto_pad = "VALID"'),
        ((1, 2, 4), (3, 2, 1), "strides = [3]"),
    ],
)
def test_products_are_the_convolution(data: tuple[int, ...], weights: tuple[int, ...], settings: str, tmp_path: Path) -> None:
    around = ",".join("?" * (len(data) - 2))
    text = (
        f"g (float{[*data]} x, float{[*weights]} w) => (float[{data[0]},{weights[0]},{around}] y) {{ y = Conv<{settings}>(x, w) }}"
    )
    proto = model(text, 13)
    random = np.random.default_rng(5)
    feeds = {name: random.integers(-9, 10, shape).astype(np.float32) for name, shape in (("x", data), ("w", weights))}
    result = convert_version(proto, 13, options=for_a_list(tmp_path, PRODUCTS)).model
    assert {node.op_type for node in result.graph.node} <= set(PRODUCTS)
    np.testing.assert_array_equal(run(result, feeds)[0], run(proto, feeds)[0])  # small integers: no sum rounds


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


REFUSED = {
    "integers in blocks": (["Conv"], "g (int8[1,1,4,4] x) => (int8[1,4,2,2] y) { y = SpaceToDepth<blocksize = 2>(x) }"),
    "doubles in blocks": (["ConvTranspose"], "g (double[1,4,2,2] x) => (double[1,1,4,4] y) { y = DepthToSpace<blocksize = 2>(x) }"),
    "an open length": (PRODUCTS, "g (float[1,1,n] x, float[1,1,2] w) => (float[1,1,m] y) { y = Conv(x, w) }"),
    "many windows": (
        PRODUCTS,
        "g (float[1,1,1000,1000] x, float[1,1,2,2] w) => (float[1,1,999,999] y) { y = Conv(x, w) }",
    ),
}


@pytest.mark.parametrize(("allowed", "text"), REFUSED.values(), ids=list(REFUSED))
def test_refused(allowed: list[str], text: str, tmp_path: Path) -> None:
    assert "does not allow it" in refused_for(tmp_path, allowed, model(text, 13))
