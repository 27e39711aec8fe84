"""Operators that cut, copy or reshape in terms of each other, and what is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import Row, assert_fits, for_a_list, refused_for, same_as_written
from helpers import convert_version, model, run

from split_rewrite import rewriter

REWRITES = [
    (
        "pieces.reshaped",
        ["Reshape"],
        "",
        "g (float[2,3,4] x) => (float[2,12] y) { y = Flatten(x) }",
        """
            <int64[2] v1 = {2,12}>
            {
             y = Reshape (x, v1)
            }
        """,
    ),
    (
        "pieces.left_out",
        ["Relu"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { t = Dropout(x) y = Relu(t) }",
        """
            {
             y = Relu (x)
            }
        """,
    ),
    (
        "pieces.slices",
        ["Slice"],
        "",
        "g (float[4,2] x) => (float[1,2] y, float[3,2] z) <int64[2] s = {1,3}> { y, z = Split(x, s) }",
        """
            <int64[1] v1 = {0}, int64[1] v2 = {1}, int64[1] v3 = {4}>
            {
             y = Slice (x, v1, v2, v1)
             z = Slice (x, v2, v3, v1)
            }
        """,
    ),
    (
        "pieces.part_of_a_split",
        ["Split"],
        "",
        "g (float[4,2] x) => (float[2,2] y) <int64[1] a = {1}, int64[1] b = {3}, int64[1] c = {0}> { y = Slice(x, a, b, c) }",
        """
            <int64[3] v1 = {1,2,1}>
            {
             v2, y, v3 = Split <axis: int = 0> (x, v1)
            }
        """,
    ),
    (
        "pieces.one_number_stored",
        ["Add"],
        "",
        "g (float[2] x, int64[2] i) => (float[2] y) <float[3] k = {5,5,5}> { t = GatherElements(k, i) y = Add(x, t) }",
        "<float[2] k = {5,5}> { y = Add (x, k) }",
    ),
    (
        "pieces.slices_at_the_indices",
        ["Slice", "Reshape"],
        "",
        "g (float[4,2] x) => (float[2] y) <int64 i = {-1}> { y = Gather(x, i) }",
        """
            <int64[1] v1 = {3}, int64[1] v2 = {4}, int64[1] v3 = {0}, int64[1] v5 = {2}>
            {
             v4 = Slice (x, v1, v2, v3)
             y = Reshape (v4, v5)
            }
        """,
    ),
    (
        "pieces.slices_at_the_indices",
        ["Reshape"],
        "",
        "g (float[4] x) => (float[2,2] y) <int64[2,2] i = {0,1,2,-1}> { y = Gather(x, i) }",
        """
            <int64[2] v1 = {2,2}>
            {
             y = Reshape (x, v1)
            }
        """,
    ),
    (
        "pieces.from_a_row",
        ["Gather", "Reshape"],
        "[[rule]]\noperators = ['Gather']\nrank = { data = { min = 2 } }",
        "g (float[4] x) => (float[2] y) <int64[2] i = {3,0}> { y = Gather(x, i) }",
        """
            <int64[2] v1 = {1,-1}, int64[2] v2 = {3,0}, int64[1] v3 = {2}>
            {
             v4 = Reshape (x, v1)
             v5 = Gather <axis: int = 1> (v4, v2)
             y = Reshape (v5, v3)
            }
        """,
    ),
    (
        "int32.moved_or_compared",
        ["Gather"],
        "[[rule]]\noperators = ['Gather']\ntype = { indices = ['int32'] }",
        "g (float[4,2] x) => (float[2,2] y) <int64[2] i = {0,3}> { y = Gather(x, i) }",
        """
            <int32[2] v1 = {0,3}>
            {
             y = Gather (x, v1)
            }
        """,
    ),
    (
        "pieces.with_narrow_bounds",
        ["Slice"],
        "[[rule]]\noperators = ['Slice']\ntype = { starts = ['int32'] }",
        "g (float[4,2] x) => (float[1,2] y) <int64[1] a = {3}, int64[1] b = {9223372036854775807}> { y = Slice(x, a, b) }",
        """
            <int32[1] v1 = {3}, int32[1] v2 = {2147483647}>
            {
             y = Slice (x, v1, v2)
            }
        """,
    ),
    (
        "pieces.tiled",
        ["Tile"],
        "",
        "g (float[1,3] x) => (float[2,3] y) <int64[2] s = {2,3}> { y = Expand(x, s) }",
        """
            <int64[2] v1 = {2,1}>
            {
             y = Tile (x, v1)
            }
        """,
    ),
    (
        "pieces.transposed_by_reshape",
        ["Reshape"],
        "",
        "g (float[2,1,3] x) => (float[2,3,1] y) { y = Transpose<perm = [0, 2, 1]>(x) }",
        """
            <int64[3] v1 = {2,3,1}>
            {
             y = Reshape (x, v1)
            }
        """,
    ),
    (
        "pieces.neighbours_swapped_in_turn",
        ["Reshape", "Transpose"],
        "[[rule]]\noperators = ['Transpose']\nattr = { perm = [[0, 2, 1, 3]] }",
        "g (float[2,3,4] x) => (float[4,3,2] y) { y = Transpose(x) }",
        """
            <int64[4] v1 = {1,6,4,1}, int64[4] v2 = {4,2,3,1}, int64[3] v3 = {4,3,2}>
            {
             apart = Reshape (x, v1)
             last = Transpose <perm = [0, 2, 1, 3]> (apart)
             again = Reshape (last, v2)
             both = Transpose <perm = [0, 2, 1, 3]> (again)
             y = Reshape (both, v3)
            }
        """,
    ),
    (
        "pieces.along_the_channels_of_an_image",
        ["Reshape", "Concat", "Transpose"],
        "[[rule]]\noperators = ['Concat']\nattr = { axis = [1] }\nrank = { '*' = 4 }\ndim = { 0 = [1] }",
        "g (float[2,3,4] x, float[2,1,4] z) => (float[2,4,4] y) { y = Concat<axis = -2>(x, z) }",
        """
            <int64[4] v1 = {1,2,3,4}, int64[4] v2 = {1,2,1,4}, int64[3] v3 = {2,4,4}>
            {
             first = Reshape (x, v1)
             second = Reshape (z, v2)
             left = Transpose <perm = [0, 2, 1, 3]> (first)
             right = Transpose <perm = [0, 2, 1, 3]> (second)
             both = Concat <axis = 1> (left, right)
             rows = Transpose <perm = [0, 2, 1, 3]> (both)
             y = Reshape (rows, v3)
            }
        """,
    ),
    (
        "pieces.along_the_second_of_four",
        ["Reshape", "Concat"],
        "[[rule]]\noperators = ['Concat']\nattr = { axis = [1] }\nrank = { '*' = 4 }",
        "g (float[2,3,4] x, float[2,1,4] z) => (float[2,4,4] y) { y = Concat<axis = -2>(x, z) }",
        """
            <int64[4] v1 = {2,3,4,1}, int64[4] v2 = {2,1,4,1}, int64[3] v3 = {2,4,4}>
            {
             first = Reshape (x, v1)
             second = Reshape (z, v2)
             both = Concat <axis = 1> (first, second)
             y = Reshape (both, v3)
            }
        """,
    ),
    (
        "pieces.gathered_parts",
        ["Gather"],
        "",
        "g (float[4,2] x) => (float[1,2] y, float[3,2] z) <int64[2] s = {1,3}> { y, z = Split(x, s) }",
        """
            <int64[1] v1 = {0}, int64[3] v2 = {1,2,3}>
            {
             y = Gather <axis: int = 0> (x, v1)
             z = Gather <axis: int = 0> (x, v2)
            }
        """,
    ),
    (
        "pieces.gathered",
        ["Gather"],
        "",
        "g (float[4,2] x) => (float[2,2] y) <int64[1] a = {1}, int64[1] b = {3}, int64[1] c = {0}> { y = Slice(x, a, b, c) }",
        """
            <int64[2] v1 = {1,2}>
            {
             y = Gather <axis: int = 0> (x, v1)
            }
        """,
    ),
    (
        "pieces.copies_in_a_row",
        ["Concat"],
        "",
        "g (float[1,2] x) => (float[3,2] y) <int64[2] s = {3,2}> { y = Expand(x, s) }",
        """
            {
             y = Concat <axis: int = 0> (x, x, x)
            }
        """,
    ),
    (
        "pieces.product_with_ones",
        ["Mul"],
        "",
        "g (float[1,2] x) => (float[3,2] y) <int64[2] s = {3,2}> { y = Expand(x, s) }",
        """
            <float[3,1] v1 = {1,1,1}>
            {
             y = Mul (x, v1)
            }
        """,
    ),
    (
        "pieces.slices_at_the_indices",
        ["Slice", "Concat"],
        "",
        "g (float[2,4] x) => (float[2,3] y) <int64[3] i = {2,-1,0}> { y = Gather<axis = 1>(x, i) }",
        """<int64[1] v1 = {2}, int64[1] v2 = {4}, int64[1] v3 = {1}, int64[1] v4 = {0}> {
            last = Slice (x, v1, v2, v3)
            first = Slice (x, v4, v3, v3)
            y = Concat <axis = 1> (last, first)
        }""",
    ),
    (
        "pieces.along_the_first_axis",
        ["Gather", "Transpose"],
        "[[rule]]\noperators = ['Gather']\nattr = { axis = [0] }",
        "g (float[2,3,4] x, int64[5,6] i) => (float[2,5,6,4] y) { y = Gather<axis = 1>(x, i) }",
        """{
            moved = Transpose <perm = [1, 0, 2]> (x)
            taken = Gather <axis = 0> (moved, i)
            y = Transpose <perm = [2, 0, 1, 3]> (taken)
        }""",
    ),
    (
        "pieces.joined_with_stored_values",
        ["Concat"],
        "",
        "g (float[1,2] x) => (float[2,4] y) <int64[4] p = {1,0,0,2}, float v = {3}> { y = Pad(x, p, v) }",
        """<float[1,2] v1 = {3,3}, float[2,2] v2 = {3,3,3,3}> {
            taller = Concat <axis = 0> (v1, x)
            y = Concat <axis = 1> (taller, v2)
        }""",
    ),
    (
        "pieces.elements_again",
        ["Gather"],
        "",
        'g (float[1,3,2] x) => (float[1,6,3] y) <int64[6] p = {0,2,0,0,1,1}> { y = Pad<mode = "reflect">(x, p) }',
        """<int64[6] rows = {2,1,0,1,2,1}, int64[3] columns = {0,1,0}> {
            taller = Gather <axis = 1> (x, rows)
            y = Gather <axis = 2> (taller, columns)
        }""",
    ),
    (
        "pieces.with_axes_of_one",
        ["Expand", "Reshape"],
        "[[rule]]\noperators = ['Expand']\nrank = { input = '=output' }",
        "g (float[3] x) => (float[2,3] y) <int64[2] s = {2, 3}> { y = Expand(x, s) }",
        """<int64[2] s = {2, 3}, int64[2] r = {1, 3}> {
            row = Reshape (x, r)
            y = Expand (row, s)
        }""",
    ),
    (
        "pieces.squeezed",
        ["Squeeze"],
        "",
        "g (float[1,3,1] x) => (float[3] y) <int64[1] s = {3}> { y = Reshape(x, s) }",
        "<int64[2] a = {0, 2}> { y = Squeeze (x, a) }",
    ),
    (
        "pieces.flattened",
        ["Flatten"],
        "",
        "g (float[1,3,2,2] x) => (float[1,12] y) <int64[2] s = {1,-1}> { y = Reshape(x, s) }",
        "{ y = Flatten <axis = 1> (x) }",
    ),
    (
        "pieces.along_a_row",
        ["GatherElements", "Reshape"],
        "[[rule]]\noperators = ['GatherElements']\nrank = { data = 2 }",
        "g (float[3] x, int64[2] i) => (float[2] y) { y = GatherElements<axis = -1>(x, i) }",
        """<int64[2] r = {1, -1}, int64[1] s = {2}> {
            row = Reshape (x, r)
            places = Reshape (i, r)
            taken = GatherElements <axis = 1> (row, places)
            y = Reshape (taken, s)
        }""",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (["Slice", "Reshape", "Relu"], "g (float[4,3,0] x) => (float[3,0] y) <int64 i = {1}> { z = Gather(x, i) y = Relu(z) }"),
        (["Reshape"], "g (float[2,1,1] x) => (float[A] y) <int64[0] a = {}> { y = Squeeze(x, a) }"),
    ],
)
def test_no_reshape_to_what_it_cannot_say(tmp_path: Path, allowed: list[str], text: str) -> None:
    assert "NPU 1 does not allow it" in refused_for(tmp_path, allowed, model(text, 13))


@pytest.mark.parametrize("end", [1 << 40, (1 << 31) - 1, (1 << 63) - 1, 1 << 31, -(1 << 40), 2])
@pytest.mark.parametrize("step", [1, -1])
def test_narrow_bounds_mean_the_same(tmp_path: Path, end: int, step: int) -> None:
    bounds = f"int64[1] s = {{5}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] t = {{{step}}}"
    text = f"g (float[6] x) => (float[A] y) <{bounds}> {{ y = Slice(x, s, e, a, t) }}"
    options = replace(for_a_list(tmp_path, ["Slice"], '[[rule]]\noperators = ["Slice"]\ntype = { ends = ["int32"] }'), verify=False)
    result = convert_version(model(text, 13), 13, options=options).model
    feeds = {"x": np.arange(6, dtype=np.float32)}
    np.testing.assert_array_equal(run(result, feeds)[0], run(model(text, 13), feeds)[0])
    assert {tensor.data_type for tensor in result.graph.initializer} == {onnx.TensorProto.INT32}


@pytest.mark.parametrize("start", [-7, -1, 0, 2])
@pytest.mark.parametrize("end", [-9, -2, 0, 3, 9, 2**31 - 1, -(2**63)])
@pytest.mark.parametrize("step", [-2, -1, 1, 2])
def test_a_slice_in_steps_becomes_a_gather(start: int, end: int, step: int, tmp_path: Path) -> None:
    text = f"""g (float[2,5] x) => (float[2,n] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{1}}, int64[1] p = {{{step}}}> {{ y = Slice(x, s, e, a, p) }}"""
    feeds = {"x": np.arange(10, dtype=np.float32).reshape(2, 5)}
    is_backward_to_the_end = step < 0 and end == 2**31 - 1
    if is_backward_to_the_end or not len(range(5)[start:end:step]):
        assert "Slice 'y'" in refused_for(tmp_path, ["Gather"], model(text, 13))
    else:
        assert same_as_written(tmp_path, ["Gather"], text, feeds) == ["Gather"]


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        ("Gather", "g (float[1000000000000] x) => (float[2] y) <int64[1] s={0}, int64[1] e={2}> { y = Slice(x, s, e) }"),
        ("Gather", "g (float[100000] x) => (float[50000] y, float[50000] z) { y, z = Split(x) }"),
        ("Mul", "g (float[1] x) => (float[1000000000000] y) <int64[1] s={1000000000000}> { y = Expand(x, s) }"),
    ],
)
def test_no_form_stores_a_number_for_each_of_many_elements(allowed: str, text: str, tmp_path: Path) -> None:
    assert "does not allow it" in refused_for(tmp_path, [allowed], model(text, 13))


@pytest.mark.parametrize("op_type", ["Expand", "Tile"])
def test_a_scalar_is_not_repeated(op_type: str, tmp_path: Path) -> None:
    text = f"g (float x) => (float y) <int64[0] e = {{}}> {{ y = {op_type}(x, e) }}"
    with pytest.raises(rewriter.UnconvertibleError, match="NPU 1 does not allow it: it is not among the operators"):
        same_as_written(tmp_path, ["Concat", "Reshape"], text, {"x": np.array(2, np.float32)})


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize(("before", "after"), [(2, 0), (0, 1), (2, 2), (5, 0)])
def test_a_pad_by_elements_of_the_data_is_as_in_numpy(mode: str, before: int, after: int, tmp_path: Path) -> None:
    if mode != "edge" and before > 2:
        return
    size = 3 + before + after
    text = f"g (float[2,3] x) => (float[2,{size}] y) <int64[2] p = {{{before},{after}}}, int64[1] a = {{-1}}> "
    original = model(f'{text} {{ y = Pad<mode = "{mode}">(x, p, , a) }}', 19)
    result = convert_version(original, None, options=for_a_list(tmp_path, ["Slice", "Concat"])).model
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(run(result, {"x": x})[0], np.pad(x, ((0, 0), (before, after)), mode))  # type: ignore[call-overload]


def test_a_pad_longer_than_the_data_is_not_taken_from_it(tmp_path: Path) -> None:
    text = 'g (float[3] x) => (float[9] y) <int64[2] p = {3,3}> { y = Pad<mode = "reflect">(x, p) }'
    assert "there is no other form of this Pad" in refused_for(tmp_path, ["Gather"], model(text, 13))


@pytest.mark.parametrize(("opset", "reduction"), [(13, ""), (16, "add"), (18, "max")])
def test_updates_of_a_vector_are_those_of_a_row(opset: int, reduction: str, tmp_path: Path) -> None:
    how = f', reduction = "{reduction}"' if reduction else ""
    text = f"g (float[4] x, int64[3] i, float[3] u) => (float[4] y) {{ y = ScatterElements<axis = 0{how}>(x, i, u) }}"
    rules = "[[rule]]\noperators = ['ScatterElements']\nrank = { data = 2 }"
    options = for_a_list(tmp_path, ["ScatterElements", "Reshape"], rules)
    result = convert_version(model(text, opset), opset, options=options).model
    places = [3, 0, -2] if not reduction else [3, 3, 0]
    feeds = {"x": np.array([1, 2, 3, 4], np.float32), "i": np.array(places), "u": np.array([5, 6, -7], np.float32)}
    assert np.array_equal(run(result, feeds)[0], run(model(text, opset), feeds)[0])


SWAPS = "[[rule]]\noperators = ['Transpose']\nattr = { perm = [[0, 2, 1, 3]] }"


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 1, 3, 4), (2, 3, 4, 5)], ids=str)
def test_every_order_of_axes_comes_of_swaps(shape: tuple[int, ...], tmp_path: Path) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    orders = [perm for perm in permutations(range(len(shape))) if perm != tuple(range(len(shape)))]
    nodes = " ".join(f"y{at} = Transpose<perm = [{','.join(map(str, perm))}]>(x)" for at, perm in enumerate(orders))
    outputs = ", ".join(f"float[{','.join(str(shape[axis]) for axis in perm)}] y{at}" for at, perm in enumerate(orders))
    proto = model(f"g (float[{','.join(map(str, shape))}] x) => ({outputs}) {{ {nodes} }}", 13)
    result = convert_version(proto, 13, options=for_a_list(tmp_path, ["Transpose", "Reshape"], SWAPS)).model
    assert {node.op_type for node in result.graph.node} == {"Transpose", "Reshape"}
    for perm, found in zip(orders, run(result, {"x": x}), strict=True):
        np.testing.assert_array_equal(found, x.transpose(perm))


CHANNELS = "[[rule]]\noperators = ['Concat']\nattr = { axis = [1] }\nrank = { '*' = 4 }"


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_parts_are_joined_along_any_axis(axis: int, tmp_path: Path) -> None:
    shape, other = [2, 3, 4], [2, 3, 4]
    other[axis] = 5
    feeds = {"x": np.random.default_rng(0).random(shape, np.float32), "z": np.random.default_rng(1).random(other, np.float32)}
    first, second = (",".join(map(str, sizes)) for sizes in (shape, other))
    text = f"g (float[{first}] x, float[{second}] z) => (float[?,?,?] y) {{ y = Concat<axis = {axis}>(x, z) }}"
    assert "Concat" in same_as_written(tmp_path, ["Concat", "Reshape"], text, feeds, CHANNELS)


def test_what_is_empty_is_not_joined_along_another_axis(tmp_path: Path) -> None:
    text = "g (float[2,3] x, float[0,3] z) => (float[2,3] y) { y = Concat<axis = 0>(x, z) }"
    with pytest.raises(rewriter.UnconvertibleError, match="there is no other form of this Concat"):
        convert_version(model(text, 13), 13, options=for_a_list(tmp_path, ["Concat", "Reshape"], CHANNELS))


def test_a_squeeze_of_what_happens_to_be_1_keeps_its_operator(tmp_path: Path) -> None:
    proto = model("g (float[N,3,1] x) => (float[N,3] y) { t = Squeeze(x) y = Neg(t) }", 13)
    assert "Squeeze 't' (main graph): NPU 1 does not allow it" in refused_for(tmp_path, ["Reshape", "Neg"], proto)
