"""The rules that avoid forms of indices, and what they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model, run
from onnx import helper

from split_rewrite.rewriter import UnconvertibleError

_LARGE = 2**63 - 1
REWRITES = [
    (
        "indices.scatter_in_turns",
        "Scatter of more updates than elements along the axis",
        18,
        'g (float[2] x, int64[5] i, float[5] u) => (float[2] y) { y = ScatterElements<reduction = "add">(x, i, u) }',
        """
            <int64[3] sizes = {2, 2, 1}>
            {
              i1, i2, i3 = Split <axis = 0> (i, sizes)
              u1, u2, u3 = Split <axis = 0> (u, sizes)
              first = ScatterElements <reduction = "add"> (x, i1, u1)
              second = ScatterElements <reduction = "add"> (first, i2, u2)
              y = ScatterElements <reduction = "add"> (second, i3, u3)
            }
        """,
    ),
    (
        "indices.of_one_more",
        "TopK of all elements",
        13,
        "g (float[2,3] x) => (float[2,3] y, int64[2,3] i) <int64[1] k = {2}> { y, i = TopK<axis = 0, largest = 0>(x, k) }",
        """
            <int64[1] k = {2}, int64[4] pads = {0, 0, 1, 0}, float last = {inf}>
            {
              padded = Pad (x, pads, last)
              y, i = TopK <axis = 0, largest = 0> (padded, k)
            }
        """,
    ),
    (
        "indices.one_by_one",
        "Unsqueeze of several axes",
        13,
        "g (float[M,N] x) => (float[1,M,N,1] y) <int64[2] a = {-1, 0}> { y = Unsqueeze(x, a) }",
        "<int64[1] zero = {0}, int64[1] three = {3}> { first = Unsqueeze (x, zero) y = Unsqueeze (first, three) }",
    ),
    (
        "indices.along_one_axis",
        "Negative index",
        13,
        "g (float[2,3] x) => (float[1,3] y) <int64[1,3] i = {-1, 0, -2}> { y = GatherElements(x, i) }",
        "<int64[1,3] from_the_front = {1, 0, 0}> { y = GatherElements (x, from_the_front) }",
    ),
    (
        "indices.along_many_axes",
        "Negative index",
        13,
        "g (float[2,3] x) => (float[2] y) <int64[2,2] i = {0, -1, -1, 0}> { y = GatherND(x, i) }",
        "<int64[2,2] from_the_front = {0, 2, 1, 0}> { y = GatherND (x, from_the_front) }",
    ),
    (
        "indices.along_one_axis",
        "Negative index",
        13,
        "g (float[N,3] x, int32[1,3] i) => (float[1,3] y) { y = GatherElements(x, i) }",
        """
            <int64 axis = {0}>
            { all = Shape (x) rows = Gather <axis = 0> (all, axis) long = Cast <to = 7> (i) front = Mod (long, rows)
              y = GatherElements (x, front) }
        """,
    ),
    (
        "indices.along_many_axes",
        "Negative index",
        15,
        "g (float[B,M,N] x, int64[B,4,1] i) => (float[B,4,N] y) { y = GatherND <batch_dims = 1> (x, i) }",
        """
            { size = Shape <start = 1, end = 2> (x) front = Mod (i, size) y = GatherND <batch_dims = 1> (x, front) }
        """,
    ),
    (
        "indices.of_classes",
        "Negative index",
        13,
        "g (float[2] v) => (float[2,3] y) <int64[2] i = {-1, 1}, int64 d = {3}> { y = OneHot(i, d, v) }",
        "<int64[2] from_the_front = {2, 1}, int64 d = {3}> { y = OneHot (from_the_front, d, v) }",
    ),
    (
        "indices.of_classes",
        "Negative index",
        13,
        "g (int32[N] i, float[2] v) => (float[N,3] y) <int64[1] d = {3}> { y = OneHot(i, d, v) }",
        """
            <int64 zero = {0}, int64 depth = {3}, int64[1] d = {3}> {
                wide = Cast <to = 7> (i) more = Add (wide, depth) low = Less (wide, zero) known = GreaterOrEqual (more, zero)
                counts = And (low, known) front = Where (counts, more, wide) y = OneHot (front, d, v)
            }
        """,
    ),
    (
        "indices.scatter_into_a_copy",
        "Scatter into data that other nodes read",
        13,
        "g (float[2,3] x, int64[1,1] i, float[1,3] u) => (float[2,3] y, float[2,3] z) { y = ScatterND(x, i, u) z = Neg(x) }",
        "{ copy = Max (x, x) y = ScatterND (copy, i, u) z = Neg (x) }",
    ),
    (
        "indices.scatter_into_a_copy",
        "Scatter into data that other nodes read",
        9,
        "g (float[2,3] x, int64[1,1] i, float[1,1] u) => (float[2,3] y, float[2,3] z) { y = Scatter(x, i, u) z = Neg(x) }",
        "{ copy = Max (x, x) y = Scatter (copy, i, u) z = Neg (x) }",
    ),
    (
        "indices.scatter_into_a_copy",
        "Scatter into data that other nodes read",
        13,
        "g (bool[2,3] x, int64[1,1] i, bool[1,1] u) => (bool[2,3] y, bool[2,3] z) { y = ScatterElements(x, i, u) z = Not(x) }",
        "{ copy = Or (x, x) y = ScatterElements (copy, i, u) z = Not (x) }",
    ),
    (
        "indices.cut_other_axes",
        "GatherElements with fewer indices than data on another axis",
        13,
        "g (float[3,4] x, int64[2,1] i) => (float[2,1] y) { y = GatherElements<axis = -1>(x, i) }",
        "<int64[2] sizes = {2,1}> { first, last = Split <axis = 0> (x, sizes) y = GatherElements <axis = -1> (first, i) }",
    ),
    (
        "indices.flatten_first",
        "Compress of an open shape without an axis",
        13,
        "g (float[N,3] x, bool[N] c) => (float[K] y) { y = Compress(x, c) }",
        "<int64[1] all = {-1}> { flat = Reshape (x, all) y = Compress <axis = 0> (flat, c) }",
    ),
    (
        "indices.repeat_by_concat",
        "Tile",
        13,
        "g (float[2,N] x) => (float[4,M] y) <int64[2] r = {2, 3}> { y = Tile(x, r) }",
        "{ long = Concat <axis = 1> (x, x, x) y = Concat <axis = 0> (long, long) }",
    ),
    (
        "indices.repeat_by_concat",
        "Tile",
        5,
        "g (float[2,N] x) => (float[2,M] y) <float r = {3}, float a = {1}> { y = Tile(x, r, a) }",
        "{ y = Concat <axis = 1> (x, x, x) }",
    ),
    (
        "indices.state_threshold",
        "NonMaxSuppression without a threshold of overlaps",
        11,
        "g (float[1,2,4] b, float[1,1,2] s) => (int64[N,3] y) <int64[1] k = {3}> { y = NonMaxSuppression(b, s, k) }",
        "<int64[1] k = {3}, float[1] least = {1.1754944e-38}> { y = NonMaxSuppression (b, s, k, least) }",
    ),
]


@pytest.mark.parametrize("view", ["Reshape (x, s)", "Unsqueeze (x, s)", "Flatten (x)", "Squeeze (t)"])
def test_another_shape_of_what_others_read_is_copied(view: str, tmp_path: Path) -> None:
    """It may lie in the same memory."""
    text = f"""g (float[2,3] x, int64[1,1] i, float[A,B] u) => (float[C,D] y, float[3,2] z) <int64[1] s = {{0}}, int64[3] e = {{1, 2, 3}}>
        {{ t = Reshape (x, e) r = {view} y = ScatterND (r, i, u) z = Transpose (x) }}"""
    result = converted(model(text, 13), "Scatter into data that other nodes read", tmp_path)
    assert "Max" in [node.op_type for node in result.graph.node]


def test_what_is_computed_of_what_others_read_is_not_copied(tmp_path: Path) -> None:
    text = """g (float[2,3] x, int64[1,1] i, float[1,3] u) => (float[2,3] y, float[3,2] z)
        { r = Neg (x) y = ScatterND (r, i, u) z = Transpose (x) }"""
    source = model(text, 13)
    assert converted(source, "Scatter into data that other nodes read", tmp_path).graph.node == source.graph.node


@pytest.mark.parametrize(
    ("kind", "other", "message"),
    [
        ("float", "", None),
        ("string", "z = Identity(x)", "its rewrite needs Max: Max of opset 13 does not take string"),
        ("complex64", "z = Identity(x)", "its rewrite needs Max: Max of opset 13 does not take complex64"),
    ],
)
def test_a_scatter_is_left_alone_or_refused(kind: str, other: str, message: str | None, tmp_path: Path) -> None:
    outputs = f"{kind}[2,3] y" + (f", {kind}[2,3] z" if other else "")
    text = f"g ({kind}[2,3] x, int64[1,1] i, {kind}[1,3] u) => ({outputs}) {{ y = ScatterND(x, i, u) {other} }}"
    source, form = model(text, 13), "Scatter into data that other nodes read"
    if message is None:
        assert converted(source, form, tmp_path).graph.node == source.graph.node
        return
    with pytest.raises(UnconvertibleError, match=message):
        converted(source, form, tmp_path)


@pytest.mark.parametrize(
    "nodes",
    [
        "m, i = TopK <axis = 0> (x, k) y = GatherElements (x, i)",
        "i = NonZero (x) t = Transpose (i) y = GatherND (x, t)",
        "i = Mod (j, l) y = GatherND (x, i)",
        "u = Cast <to = 9> (j) i = Cast <to = 7> (u) y = GatherND (x, i)",
    ],
)
def test_indices_that_are_never_negative_at_run_time_are_left_alone(nodes: str, tmp_path: Path) -> None:
    text = f"""g (float[2,3] x, int64[4,2] j) => (float[A,B] y)
        <int64[1] k = {{1}}, int64 z = {{0}}, int64 o = {{1}}, int64[2] l = {{2, 3}}>
        {{ {nodes} }}"""
    source = model(text, 13)
    assert converted(source, "Negative index", tmp_path).graph.node == source.graph.node


@pytest.mark.parametrize(
    "indices",
    [
        "a = Cast <to = 2> (j) c = Cast <to = 3> (a) i = Cast <to = 7> (c)",
        "r = Range (z, m, n) i = Unsqueeze (r, k)",
        "s = Size (v) a = Add (s, b) i = Unsqueeze (a, f)",
        "s = Less (j, o) e = Add (j, l) i = Where (s, e, j)",
    ],
)
def test_indices_that_may_be_negative_are_counted_from_the_front(indices: str, tmp_path: Path) -> None:
    text = f"""g (float[2,3] x, int64[4,1] j, int64 m, int64 n, float[N] v) => (float[A,B] y)
        <int64[1] k = {{1}}, int64[2] f = {{0, 1}}, int64 z = {{0}}, int64 o = {{1}}, int64[1] l = {{1}}, int64 b = {{{_LARGE}}}>
        {{ {indices} y = GatherND (x, i) }}"""
    assert "Mod" in [node.op_type for node in converted(model(text, 13), "Negative index", tmp_path).graph.node]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)


@pytest.mark.parametrize(
    ("kind", "depth", "indices"),
    [
        ("int64", 4, [-1, -4, -5, -8, 0, 3, 4, 9]),
        ("int32", 4, [-1, -4, -5, 3]),
        ("int8", 200, [-1, 5, -128, 127]),
        ("float", 4, [-0.5, -1.5, -4.0, -4.5, 3.5, -5.0]),
    ],
)
def test_negative_classes_of_run_time_are_those_that_they_were(kind: str, depth: int, indices: list[float], tmp_path: Path) -> None:
    """By the specification: a fraction is dropped, and outside of -depth to depth - 1 nothing is selected."""
    before = model(
        f"g ({kind}[N] i) => (float[N,{depth}] y) <int64[1] d = {{{depth}}}, float[2] v = {{0, 1}}> {{ y = OneHot(i, d, v) }}", 13
    )
    result = converted(before, "Negative index", tmp_path)
    given = np.array(indices, helper.tensor_dtype_to_np_dtype(before.graph.input[0].type.tensor_type.elem_type))
    whole = np.trunc(given).astype(np.int64)
    expected = np.where(whole < 0, whole + depth, whole)[:, None] == np.arange(depth)
    expected &= (whole >= -depth)[:, None]
    np.testing.assert_array_equal(run(result, {"i": given})[0], expected.astype(np.float32))


def test_unsigned_classes_stay(tmp_path: Path) -> None:
    before = model("g (uint8[N] i, float[2] v) => (float[N,3] y) <int64 d = {3}> { y = OneHot(i, d, v) }", 13)
    assert converted(before, "Negative index", tmp_path).graph.node == before.graph.node
