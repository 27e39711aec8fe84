"""Gemm, MatMul and Conv as each other, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import convert_version, model, run
from onnx import numpy_helper

from split_rewrite import rewriter

PRODUCTS = ["MatMul", "Gather", "Reshape", "Add", "Pad"]
REWRITES = [
    (
        "products.matmul_and_add",
        ["MatMul", "Mul", "Add"],
        "",
        "g (float[2,3] x) => (float[2,2] y) <float[2,3] w = {1,2,3,4,5,6}, float[2] c = {1,2}> { y = Gemm<transB = 1, alpha = 2.0, beta = 0.5>(x, w, c) }",
        """
            <float[3,2] v1 = {1,4,2,5,3,6}, float v3 = {2}, float[2] v5 = {0.5,1}>
            {
             v2 = MatMul (x, v1)
             v4 = Mul (v2, v3)
             y = Add (v4, v5)
            }
        """,
    ),
    (
        "products.gemm",
        ["Gemm"],
        "",
        "g (float[2,3] x, float[3,2] w) => (float[2,2] y) { y = MatMul(x, w) }",
        """
            {
             y = Gemm (x, w)
            }
        """,
    ),
    (
        "products.rows_of_a_matrix",
        ["MatMul", "Reshape"],
        "[[rule]]\noperators = ['MatMul']\nrank = { A = 2 }",
        "g (float[2,3,4] x, float[4,5] w) => (float[2,3,5] y) { y = MatMul(x, w) }",
        """
            <int64[2] v1 = {6,4}, int64[3] v4 = {2,3,5}>
            {
             v2 = Reshape (x, v1)
             v3 = MatMul (v2, w)
             y = Reshape (v3, v4)
            }
        """,
    ),
    (
        "products.convolution_of_points_in_a_row",
        ["Conv", "Reshape", "Transpose"],
        "[[rule]]\noperators = ['Conv']\ndim = { 0 = [1] }",
        "g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1,2,3,4,5,6}, float[2] c = {1,2}> { y = Gemm(x, w, c) }",
        """
            <int64[4] v1 = {1,3,1,2}, float[2,3,1,1] v3 = {1,3,5,2,4,6}, float[2] v4 = {1,2}, int64[2] v6 = {2,2}>
            {
             columns = Transpose <perm = [1, 0]> (x)
             v2 = Reshape (columns, v1)
             v5 = Conv <kernel_shape: ints = [1, 1]> (v2, v3, v4)
             rows = Reshape (v5, v6)
             y = Transpose <perm = [1, 0]> (rows)
            }
        """,
    ),
    (
        "products.convolution_of_points",
        ["Conv", "Reshape"],
        "",
        "g (float[2,3] x) => (float[2,2] y) <float[3,2] w = {1,2,3,4,5,6}, float[2] c = {1,2}> { y = Gemm(x, w, c) }",
        """
            <int64[4] v1 = {2,3,1,1}, float[2,3,1,1] v3 = {1,3,5,2,4,6}, float[2] v4 = {1,2}, int64[2] v6 = {2,2}>
            {
             v2 = Reshape (x, v1)
             v5 = Conv <kernel_shape: ints = [1, 1]> (v2, v3, v4)
             y = Reshape (v5, v6)
            }
        """,
    ),
    (
        "products.convolution_in_two_dimensions",
        ["Conv", "Reshape"],
        "[[rule]]\noperators = ['Conv']\nrank = { X = 4 }",
        "g (float[1,2,5] x) => (float[1,2,3] y) <float[2,2,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[2] b = {1,2}> { y = Conv(x, w, b) }",
        """
            <int64[4] v1 = {1,2,1,5}, float[2,2,1,3] v3 = {1,2,3,4,5,6,7,8,9,10,11,12}, float[2] v4 = {1,2}, int64[3] v6 = {1,2,3}>
            {
             v2 = Reshape (x, v1)
             v5 = Conv <dilations: ints = [1, 1], group: int = 1, kernel_shape: ints = [1, 3], pads: ints = [0, 0, 0, 0], strides: ints = [1, 1]> (v2, v3, v4)
             y = Reshape (v5, v6)
            }
        """,
    ),
    (
        "products.convolution_of_each_group",
        ["Conv", "Split", "Concat"],
        "[[rule]]\noperators = ['Conv']\nattr = { group = [1] }\ndim = { 'W.1' = { max = 2 } }",
        "g (float[1,4,1,2] x) => (float[1,2,1,2] y) <float[2,2,1,1] w = {1,2,3,4}, float[2] b = {5,6}> { y = Conv<group = 2>(x, w, b) }",
        """
            <int64[2] v1 = {2,2}, float[1,2,1,1] v4 = {1,2}, float[1] v5 = {5}, float[1,2,1,1] v7 = {3,4}, float[1] v8 = {6}>
            {
             v2, v3 = Split <axis: int = 1> (x, v1)
             v6 = Conv <kernel_shape: ints = [1, 1]> (v2, v4, v5)
             v9 = Conv <kernel_shape: ints = [1, 1]> (v3, v7, v8)
             y = Concat <axis: int = 1> (v6, v9)
            }
        """,
    ),
    (
        "products.product_with_patches",
        ["MatMul", "Reshape", "Transpose", "Add"],
        "",
        "g (float[1,1,4,2] x) => (float[1,2,2,1] y) <float[2,1,2,2] w = {1,2,3,4,5,6,7,8}, float[2] b = {1,2}> { y = Conv<strides = [2, 2]>(x, w, b) }",
        """
            <int64[6] v1 = {1,1,2,2,1,2}, int64[2] v4 = {2,4}, float[4,2] v6 = {1,5,2,6,3,7,4,8}, float[2] v8 = {1,2}, int64[3] v10 = {1,2,2}, int64[4] v13 = {1,2,2,1}>
            {
             v2 = Reshape (x, v1)
             v3 = Transpose <perm: ints = [0, 2, 4, 1, 3, 5]> (v2)
             v5 = Reshape (v3, v4)
             v7 = MatMul (v5, v6)
             v9 = Add (v7, v8)
             v11 = Reshape (v9, v10)
             v12 = Transpose <perm: ints = [0, 2, 1]> (v11)
             y = Reshape (v12, v13)
            }
        """,
    ),
    (
        "products.convolution_of_real_numbers",
        ["Conv", "DequantizeLinear", "QuantizeLinear"],
        "",
        "g (uint8[1,1,2,2] x) => (uint8[1,1,1,1] y) <float s = {0.5}, uint8 z = {3}, int8[1,1,2,2] w = {1,2,3,4}, int8 o = {0}> { y = QLinearConv(x, s, z, w, s, o, s, z) }",
        """
            <float s = {0.5}, uint8 z = {3}, int8[1,1,2,2] w = {1,2,3,4}, int8 o = {0}>
            {
             a = DequantizeLinear (x, s, z)
             b = DequantizeLinear (w, s, o)
             c = Conv (a, b)
             y = QuantizeLinear (c, s, z)
            }
        """,
    ),
    (
        "products.product_of_real_numbers",
        ["MatMul", "DequantizeLinear", "QuantizeLinear"],
        "",
        "g (uint8[2,2] x) => (uint8[2,2] y) <float s = {0.5}, uint8 z = {3}, int8[2,2] w = {1,2,3,4}, int8 o = {0}> { y = QLinearMatMul(x, s, z, w, s, o, s, z) }",
        """
            <float s = {0.5}, uint8 z = {3}, int8[2,2] w = {1,2,3,4}, int8 o = {0}>
            {
             a = DequantizeLinear (x, s, z)
             b = DequantizeLinear (w, s, o)
             c = MatMul (a, b)
             y = QuantizeLinear (c, s, z)
            }
        """,
    ),
    (
        "products.factors_of_equal_rank",
        ["MatMul", "Reshape"],
        "[[rule]]\noperators = ['MatMul']\nrank = { A = '=B' }",
        "g (float[3] x, float[2,3,4] z) => (float[2,4] y) { y = MatMul(x, z) }",
        """<int64[3] v1 = {1,1,3}, int64[2] v2 = {2,4}> {
            row = Reshape (x, v1)
            product = MatMul (row, z)
            y = Reshape (product, v2)
        }""",
    ),
    (
        "products.product_of_the_transposed",
        ["MatMul", "Transpose"],
        "[[rule]]\noperators = ['MatMul']\nconst = ['!A', 'B']",
        "g (float[2,2,3] x) => (float[2,1,3] y) <float[1,2] w = {1,2}> { y = MatMul(w, x) }",
        """<float[2,1] v = {1,2}> {
            turned = Transpose <perm = [0, 2, 1]> (x)
            product = MatMul (turned, v)
            y = Transpose <perm = [0, 2, 1]> (product)
        }""",
    ),
    (
        "products.product_with_gathered_windows",
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
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    "bias", ["float[3,1] c = {10, 20, 30}", "float[1,3] c = {10, 20, 30}", "float[3] c = {10, 20, 30}", "float[1,1] c = {7}"]
)
def test_a_column_is_not_added_as_a_row(tmp_path: Path, bias: str) -> None:
    text = f"g (float[3,2] x) => (float[3,3] y) <float[2,3] w = {{1, 2, 3, 4, 5, 6}}, {bias}> {{ y = Gemm(x, w, c) }}"
    if "3,1" in bias:
        assert "Gemm" in refused_for(tmp_path, ["Conv", "Reshape"], model(text, 13))
        return
    same_as_written(tmp_path, ["Conv", "Reshape"], text, {"x": np.arange(6, dtype=np.float32).reshape(3, 2)})


@pytest.mark.parametrize(
    "attributes",
    ["strides = [1, 1]", "strides = [2, 2], pads = [0, 1, 0, 1]", "strides = [2, 2], dilations = [2, 2]", "strides = [2, 1]"],
)
def test_windows_that_overlap_or_are_padded_are_no_patches(attributes: str, tmp_path: Path) -> None:
    text = f"g (float[1,1,4,4] x) => (float[a,b,c,d] y) <float[1,1,2,2] w = {{1, 2, 3, 4}}> {{ y = Conv<{attributes}>(x, w) }}"
    assert "Conv 'y'" in refused_for(tmp_path, ["MatMul", "Reshape", "Transpose"], model(text, 13))


@pytest.mark.parametrize(("shape", "window"), [((2, 3, 6, 4), (3, 2)), ((1, 2, 3, 5), (1, 1)), ((3, 1, 2, 2), (2, 2))])
def test_patches_of_every_size(shape: tuple[int, ...], window: tuple[int, int], tmp_path: Path) -> None:
    weights = np.arange(4 * shape[1] * window[0] * window[1]) - 3
    sizes = f"4,{shape[1]},{window[0]},{window[1]}"
    text = f"""g (float[{",".join(map(str, shape))}] x) => (float[a,b,c,d] y)
        <float[{sizes}] w = {{{",".join(map(str, weights))}}}> {{ y = Conv<strides = [{window[0]}, {window[1]}]>(x, w) }}"""
    feeds = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)}
    same_as_written(tmp_path, ["MatMul", "Reshape", "Transpose"], text, feeds)


IN_GROUPS = [
    ("Conv", "6,2,2,3", "group = 3, pads = [1,0,0,1], strides = [1,2]"),
    ("Conv", "6,1,2,2", 'group = 6, auto_pad = "SAME_UPPER"'),
    ("ConvTranspose", "6,2,2,3", "group = 2, strides = [2,1], output_padding = [1,0]"),
    ("ConvTranspose", "6,1,2,3", "group = 6"),
]


@pytest.mark.parametrize(("op_type", "sizes", "attributes"), IN_GROUPS)
@pytest.mark.parametrize("bias", ["", ", b", ', ""'])
def test_groups_of_every_kind(op_type: str, sizes: str, attributes: str, bias: str, tmp_path: Path) -> None:
    weights = np.arange(np.prod([int(size) for size in sizes.split(",")])) % 7 - 3
    maps = {"Conv": 6, "ConvTranspose": int(sizes.split(",")[1]) * int(attributes[8])}[op_type]
    biases = ",".join(map(str, range(maps)))
    text = f"""g (float[2,6,3,4] x) => (float[a,b,c,d] y) <float[{sizes}] w = {{{",".join(map(str, weights))}}}, float[{maps}] b = {{{biases}}}>
        {{ y = {op_type}<{attributes}>(x, w{bias}) }}"""
    rules = f"[[rule]]\noperators = ['{op_type}']\nattr = {{ group = [1] }}\ndim = {{ 'W.1' = {{ max = 2 }} }}"
    feeds = {"x": np.arange(144, dtype=np.float32).reshape(2, 6, 3, 4)}
    operators = same_as_written(tmp_path, [op_type, "Split", "Concat"], text, feeds, rules)
    assert operators.count(op_type) == int(attributes[8])


@pytest.mark.parametrize(("count", "weights"), [(65, "<float[65,1,1,1] w>"), (2, "")])
def test_many_groups_and_computed_weights_stay_together(count: int, weights: str, tmp_path: Path) -> None:
    given = "" if weights else f", float[{count},1,1,1] w"
    proto = model(f"g (float[1,{count},2,2] x{given}) => (float[a,b,c,d] y) {{ y = Conv<group = {count}>(x, w) }}", 13)
    if weights:
        proto.graph.initializer.append(numpy_helper.from_array(np.ones((count, 1, 1, 1), np.float32), "w"))
    rules = "[[rule]]\noperators = ['Conv']\nattr = { group = [1] }\ndim = { 'W.1' = { max = 1 } }"
    options = for_a_list(tmp_path, ["Conv", "Split", "Concat"], rules)
    with pytest.raises(rewriter.UnconvertibleError, match=rf"Conv 'y'.*group is {count}"):
        rewriter.convert_version(proto, 13, options=options)


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
    "text",
    [
        "g (float[1,1,n] x, float[1,1,2] w) => (float[1,1,m] y) { y = Conv(x, w) }",
        "g (float[1,1,1000,1000] x, float[1,1,2,2] w) => (float[1,1,999,999] y) { y = Conv(x, w) }",
    ],
    ids=["an open length", "many windows"],
)
def test_windows_that_are_not_gathered(text: str, tmp_path: Path) -> None:
    assert "Conv 'y' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, PRODUCTS, model(text, 13))
