"""SplitToSequence into a number of parts that only the data tells: what reads it, against numpy; and what is left."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, simplify

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.structure.survey import all_graphs

POSITIONS = "int64 zero = {0}, int64 one = {1}, int64 last = {-1}, int64 before_last = {-2}, int64 two = {2}, int64 most = {9223372036854775807}"


def sequence_operators(proto: onnx.ModelProto) -> set[str]:
    return {node.op_type for graph in all_graphs(proto) for node in graph.node if "Sequence" in node.op_type}


LEFT = {
    "keepdims-of-two-meanings": (
        "int64 c", "s = SplitToSequence<keepdims = 0>(x, c) t = SequenceAt(s, one) y = Reshape(t, flat)",
        "it has two meanings: by the specification keepdims=0 is ignored, because split is given, and onnxruntime removes the axis",
    ),
    "keepdims-of-two-meanings-put-together": (
        "int64 c", "s = SplitToSequence<keepdims = 0>(x, c) t = ConcatFromSequence<axis = 0>(s) y = Reshape(t, flat)", "two meanings",
    ),
    "inserted-into-sizes": ("int64[k] c", "s = SplitToSequence(x, c) r = SequenceInsert(s, x) y = SequenceAt(r, zero)", "how many parts"),
    "inserted-into": ("int64 c", "s = SplitToSequence(x, c) r = SequenceInsert(s, x) y = SequenceAt(r, zero)", "how many parts"),
    "erased-from": ("int64 c", "s = SplitToSequence(x, c) r = SequenceErase(s) y = SequenceAt(r, zero)", "how many parts"),
    "concatenated-along-another-axis": (
        "int64 c", "s = SplitToSequence(x, c) y = ConcatFromSequence<axis = 1>(s)", "how many parts SplitToSequence 's' makes",
    ),
    "stacked": ("int64 c", "s = SplitToSequence(x, c) t = ConcatFromSequence<axis = 0, new_axis = 1>(s) y = Reshape(t, flat)", "how many parts"),
    "unbound-and-concatenated-of-unknown-rank": (
        "int64[V] c", "r = Reshape(x, c) s = SplitToSequence<keepdims = 0>(r) t = ConcatFromSequence<axis = 0>(s) y = Reshape(t, flat)",
        "how many parts",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("split", "body", "reason"), LEFT.values(), ids=LEFT)
def test_left_with_its_reason(split: str, body: str, reason: str) -> None:
    text = f"g (float[N, 2] x, {split}) => (float[a, b] y) <{POSITIONS}, int64[2] flat = {{-1, 2}}> {{{body}}}"
    result = simplify(helpers.model(text, 13))
    assert [remark.message for remark in result.report.remarks if reason in remark.message]
    assert sequence_operators(result.model)


def chunks(x: np.ndarray, size: int, axis: int) -> list[np.ndarray]:
    return np.split(x, range(size, x.shape[axis], size), axis)


@pytest.mark.parametrize("target", helpers.known(9, 11, 13, 18, 25))
@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("position", ["zero", "one", "last", "before_last"])
def test_size_at_run_time(position: str, axis: int, kind: str, target: int) -> None:
    text = f"""g (float[N, M] x, {kind} c) => (float[a, b] y) <{POSITIONS}>
    {{s = SplitToSequence<axis = {axis}>(x, c) y = SequenceAt(s, {position})}}"""
    result = convert_version(helpers.model(text, 12), target).model
    assert sequence_operators(result) == set()
    at = {"zero": 0, "one": 1, "last": -1, "before_last": -2}[position]
    for length in (4, 5, 6, 7):
        x = np.arange(length * length, dtype=np.float32).reshape(length, length)
        for size in range(1, length):
            got = helpers.run(result, {"x": x, "c": np.array(size, kind)})[0]
            np.testing.assert_array_equal(got, chunks(x, size, axis)[at], strict=True)
    if position in ("zero", "last"):
        most = np.array(np.iinfo(kind).max, kind)
        np.testing.assert_array_equal(helpers.run(result, {"x": x, "c": most})[0], x)


@pytest.mark.parametrize("size", [1, 3, 4, 100, 2**63 - 1])
@pytest.mark.parametrize("position", [0, 1, 2, -1, -2])
def test_constant_size_of_an_unknown_dimension(position: int, size: int) -> None:
    text = f"""g (float[N] x) => (float[a] y, int64 n) <int64 c = {{{size}}}, int64 i = {{{position}}}>
    {{s = SplitToSequence(x, c) y = SequenceAt(s, i) n = SequenceLength(s)}}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    for length in (1, 4, 9):
        x = np.arange(length, dtype=np.float32)
        parts = chunks(x, min(size, 1000), 0)
        if -len(parts) <= position < len(parts):
            y, n = helpers.run(result, {"x": x})
            np.testing.assert_array_equal(y, parts[position], strict=True)
            assert n == len(parts)


@pytest.mark.parametrize("split", ["int64 c", "int32 c", "int64 c = {2}"], ids=["int64", "int32", "constant"])
@pytest.mark.parametrize("shape", ["", "[1]"], ids=["scalar", "vector"])
def test_run_time_position(split: str, shape: str) -> None:
    is_input = "=" not in split
    text = f"""g (float[N] x{", " + split if is_input else ""}, int64{shape} i) => (float[a] y) <{"" if is_input else split}>
    {{s = SplitToSequence(x, c) y = SequenceAt(s, i)}}""".replace("<>", "")
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    x = np.arange(5, dtype=np.float32)
    for position in (-3, -1, 0, 2):
        feeds = {"x": x, "i": np.array(position).reshape([1] if shape else [])}
        if is_input:
            feeds["c"] = np.array(2, split.split()[0])
        np.testing.assert_array_equal(helpers.run(result, feeds)[0], chunks(x, 2, 0)[position], strict=True)
        for wrong in (3, -4):
            with pytest.raises(AssertionError, match="out of data bounds"):
                helpers.run(result, {**feeds, "i": np.array(wrong).reshape([1] if shape else [])})


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("position", [0, 2, -1, "run-time"])
def test_parts_of_1(position: int | str, keepdims: int) -> None:
    stored = "int64 zero = {0}" if position == "run-time" else f"int64 i = {{{position}}}"
    text = f"""g (float[2, N] x{", int64 i" if position == "run-time" else ""}) => (float[{"a, b" if keepdims else "a"}] y, int64 n) <{stored}>
    {{s = SplitToSequence<axis = -1, keepdims = {keepdims}>(x) y = SequenceAt(s, i) n = SequenceLength(s)}}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for at in (0, 2, -3) if position == "run-time" else (position,):
        y, n = helpers.run(result, {"x": x, "i": np.array(at)} if position == "run-time" else {"x": x})
        np.testing.assert_array_equal(y, x[:, [at]] if keepdims else x[:, at], strict=True)
        assert n == 3


@pytest.mark.parametrize(
    ("split", "sizes", "lengths"),
    [
        pytest.param("int64 c", np.array(3), {0: 0, 1: 1, 3: 1, 4: 2, 6: 2, 7: 3}, id="scalar"),
        pytest.param("int32 c", np.array(3, np.int32), {0: 0, 1: 1, 3: 1, 4: 2, 6: 2, 7: 3}, id="int32"),
        pytest.param("int64 c", np.array(2**63 - 1), {0: 0, 1: 1, 7: 1}, id="huge"),
        pytest.param("int64[k] c", np.array([1, 0, 2]), {3: 3}, id="vector"),
    ],
)
def test_length(split: str, sizes: np.ndarray, lengths: dict[int, int]) -> None:
    text = f"g (float[N] x, {split}) => (int64 n) {{s = SplitToSequence(x, c) n = SequenceLength(s)}}"
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    for dimension, length in lengths.items():
        (n,) = helpers.run(result, {"x": np.zeros(dimension, np.float32), "c": sizes})
        assert n == length and n.dtype == np.int64 and n.shape == ()


PUT_TOGETHER = {
    "same-axis": "s = SplitToSequence<axis = 1>(x, c) y = ConcatFromSequence<axis = 1>(s)",
    "same-axis-from-the-end": "s = SplitToSequence<axis = 1>(x, c) y = ConcatFromSequence<axis = -1>(s)",
    "unbound": "s = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = -1, new_axis = 1>(s)",
    "through-identity": "r = SplitToSequence(x) s = Identity(r) y = ConcatFromSequence<axis = 0>(s)",
}


@pytest.mark.parametrize("body", PUT_TOGETHER.values(), ids=PUT_TOGETHER)
def test_all_parts_put_together_are_the_data(body: str) -> None:
    simplified = simplify(helpers.model(f"g (float[N, M] x, int64 c) => (float[a, b] y) {{{body}}}", 14))
    result = simplified.model
    assert not simplified.report.remarks  # why the SplitToSequence was left matters no more
    assert [node.op_type for node in result.graph.node] == ["Identity"]
    assert list(result.graph.node[0].input) == ["x"]


def test_captured_by_a_loop() -> None:
    text = f"""g (float[N] x, int64 c, int64 n) => (float[a, b] y) <{POSITIONS}> {{
        s = SplitToSequence(x, c) t = Cast<to = 9>(one)
        y = Loop(n, t)<body = b (int64 i, bool k) => (bool k2, float[d] e) {{k2 = Identity(k) e = SequenceAt(s, i)}}>
    }}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    x = np.arange(6, dtype=np.float32)
    (y,) = helpers.run(result, {"x": x, "c": np.array(2), "n": np.array(3)})
    np.testing.assert_array_equal(y, x.reshape(3, 2))


def test_more_parts_than_are_written_out_are_sliced() -> None:
    text = f"g (float[5000] x) => (float[a] y, int64 n) <{POSITIONS}> {{s = SplitToSequence(x) y = SequenceAt(s, last) n = SequenceLength(s)}}"
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set() and len(result.graph.node) < 5
    y, n = helpers.run(result, {"x": np.arange(5000, dtype=np.float32)})
    assert y == [4999] and n == 5000


SIZES = [np.array([3]), np.array([0, 2, 4]), np.array([4, 0, 0, 1, 2])]


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("target", [13, 11, 9])
def test_parts_of_sizes_whose_number_only_the_data_tells(kind: str, target: int) -> None:
    """At every position, constant and computed, and their number; parts may be empty."""
    text = f"""g (float[2, N] x, {kind}[k] c, int32 at) => (float[2, a] y, float[2, b] f, float[2, d] l, int64 n) <{POSITIONS}> {{
        s = SplitToSequence<axis = -1>(x, c) y = SequenceAt(s, at) f = SequenceAt(s, zero) l = SequenceAt(s, last)
        n = SequenceLength(s)
    }}"""
    source = helpers.model(text, 13)
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    for sizes in SIZES:
        x = np.arange(2 * sizes.sum(), dtype=np.float32).reshape(2, -1)
        for position in range(-len(sizes), len(sizes)):
            given = {"x": x, "c": sizes.astype(kind), "at": np.array(position, np.int32)}
            answers = helpers.run(result, given)
            for got, expected in zip(answers, helpers.run(source, given), strict=True):
                np.testing.assert_array_equal(got, expected, strict=True)
            np.testing.assert_array_equal(answers[0], np.split(x, np.cumsum(sizes)[:-1], 1)[position], strict=True)


def test_a_position_that_is_no_part_of_sizes_fails_as_before() -> None:
    text = "g (float[N] x, int64[k] c, int64 at) => (float[a] y) {s = SplitToSequence(x, c) y = SequenceAt(s, at)}"
    result = simplify(helpers.model(text, 13)).model
    for position in (2, -3):
        with pytest.raises(AssertionError, match=r"out of (data )?bounds"):
            helpers.run(result, {"x": np.zeros(3, np.float32), "c": np.array([1, 2]), "at": np.array(position)})


def test_sizes_put_together_are_the_data() -> None:
    text = "g (float[N] x, int64[k] c) => (float[a] y) {s = SplitToSequence(x, c) y = ConcatFromSequence<axis = 0>(s)}"
    assert [node.op_type for node in simplify(helpers.model(text, 13)).model.graph.node] == ["Identity"]


def test_a_position_among_a_known_number_of_sizes() -> None:
    text = "g (float[N] x, int64[3] c, int64 at) => (float[a] y) {s = SplitToSequence(x, c) y = SequenceAt(s, at)}"
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert sequence_operators(result) == set()
    for sizes in ([1, 0, 4], [2, 2, 2]):
        for position in range(-3, 3):
            given = {"x": np.arange(sum(sizes), dtype=np.float32), "c": np.array(sizes), "at": np.array(position)}
            np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


UNBOUND = f"""g (float[N, 2] x, int64 c) => (int64[A] y, int64 n) <{POSITIONS}> {{
    s = SplitToSequence<keepdims = 0>(x, c) t = SequenceAt(s, last) y = Shape(t) n = SequenceLength(s)
}}"""


def test_the_caller_decides_between_two_meanings() -> None:
    source = helpers.model(UNBOUND, 13)
    message = "two meanings: by the specification keepdims=0 is ignored, because split is given, and onnxruntime removes the axis"
    assert message in helpers.refusal(source, 10)
    given = {"x": np.zeros((3, 2), np.float32), "c": np.array(1)}
    for semantics, shape, runtime in (("specification", [1, 2], "onnx.reference"), ("onnxruntime", [2], "onnxruntime")):
        result = convert_version(source, 10, options=Options(semantics=semantics)).model
        assert sequence_operators(result) == set()
        assert [list(answer.reshape(-1)) for answer in helpers.run(result, given)] == [shape, [3]]
        assert [list(answer.reshape(-1)) for answer in helpers.run(source, given, runtime)] == [shape, [3]]


def test_rows_that_may_be_empty_stay() -> None:
    text = (
        "g (float[N, L, M, 2] x) => (float[a, b, 2] y) {s = SplitToSequence<keepdims = 0>(x) y = ConcatFromSequence<axis = 0>(s)}"
    )
    result = simplify(helpers.model(text, 13))
    reasons = [remark.message for remark in result.report.remarks]
    assert "the elements are rows of 'x', and not known to have a shape without 0" in reasons


@pytest.mark.parametrize(("axis", "becomes"), [(0, ["Flatten"]), (1, ["Transpose", "Flatten"]), (-2, ["Flatten"])])
def test_matrices_of_unknown_shape_put_one_behind_the_other(axis: int, becomes: list[str]) -> None:
    text = (
        f"g (float[N, L, M] x) => (float[a, b] y) {{s = SplitToSequence<keepdims = 0>(x) y = ConcatFromSequence<axis = {axis}>(s)}}"
    )
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert [node.op_type for node in result.graph.node] == becomes
    for shape in ((3, 4, 2), (1, 1, 2), (3, 0, 2), (3, 2, 0)):
        given = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)}
        np.testing.assert_array_equal(*helpers.run(result, given), np.concatenate(list(given["x"]), axis), strict=True)


LETTERS = np.array([[f"{row}{column}" for column in "abc"] for row in "12345"], object)


def test_rows_of_strings_stay_if_a_gather_would_lose_some() -> None:
    text = "g (string[N, 3] x) => (string[a] y) <int64 i = {1}> {s = SplitToSequence<keepdims = 0>(x) y = SequenceAt(s, i)}"
    result = simplify(helpers.model(text, 13))
    assert sequence_operators(result.model) == {"SplitToSequence", "SequenceAt"}
    assert any("onnxruntime loses strings of 'x'" in remark.message for remark in result.report.remarks)
    columns = text.replace("keepdims = 0", "axis = 1, keepdims = 0").replace("[N, 3]", "[3, N]").replace("i = {1}", "i = {-2}")
    result = simplify(helpers.model(columns, 13)).model
    assert [node.op_type for node in result.graph.node] == ["Gather"]
    assert helpers.run(result, {"x": LETTERS.T})[0].tolist() == LETTERS[-2].tolist()


def test_rows_put_one_behind_the_other_of_unknown_length_there() -> None:
    text = "g (float[N, M, 2] x) => (float[a, 2] y) {s = SplitToSequence<keepdims = 0>(x) y = ConcatFromSequence<axis = 0>(s)}"
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert sequence_operators(result) == set()
    for shape in ((3, 4, 2), (1, 1, 2), (3, 0, 2)):
        given = {"x": np.arange(np.prod(shape), dtype=np.float32).reshape(shape)}
        np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


def test_rows_put_one_behind_the_other() -> None:
    text = "g (float[N, 2] x) => (float[a] y) {s = SplitToSequence<keepdims = 0>(x) y = ConcatFromSequence<axis = 0>(s)}"
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert [node.op_type for node in result.graph.node] == ["Reshape"]
    for rows in (1, 4):
        given = {"x": np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)}
        np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


REWRITES = [
    (
        "sequence_parts.undo_split",
        13,
        13,
        "g (float[N,2] x) => (float[N,2] y) { s = SplitToSequence (x) t = ConcatFromSequence <axis = 0> (s) y = Relu (t) }",
        "{ y = Relu (x) }",
    ),
    (
        "sequence_parts.compute_length",
        13,
        13,
        "g (float[N,2] x) => (int64 y) { s = SplitToSequence (x) y = SequenceLength (s) }",
        "<int64 v2 = {0}> { v1 = Shape (x) y = Gather <axis = 0> (v1, v2) }",
    ),
    (
        "sequence_parts.slice_part",
        13,
        13,
        "g (float[N,2] x) => (float[1,2] y) <int64 i = {1}> { s = SplitToSequence (x) y = SequenceAt (s, i) }",
        "<int64[1] v1 = {1}> { y = Gather <axis = 0> (x, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
