"""Dissolving sequences: what is left alone and why, what is invalid, then what comes out, against numpy."""

from __future__ import annotations

from typing import Any

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, simplify

from split_rewrite.rewriter.structure.survey import all_graphs
from split_rewrite.rules.simplify import sequences


def operators(proto: onnx.ModelProto) -> list[str]:
    return sorted(node.op_type for graph in all_graphs(proto) for node in graph.node)


def sequence_operators(proto: onnx.ModelProto) -> set[str]:
    return {op_type for op_type in operators(proto) if "Sequence" in op_type}


POSITIONS = "int64 zero = {0}, int64 one = {1}, int64 last = {-1}, int64 seven = {7}, int64[1] first = {0}"

LEFT = {
    "input-of-the-graph": ("seq(float[a]) s", "y = SequenceAt(s, zero)", "it is an input of the main graph"),
    "length-of-an-input": ("seq(float[a]) s", "n = SequenceLength(s) r = Cast<to = 1>(n) y = Unsqueeze(r, first)", "it is an input of the main graph"),
    "concat-of-an-input": ("seq(float[a]) s", "y = ConcatFromSequence<axis = 0>(s)", "it is an input of the main graph"),
    "comes-from-an-if": (
        "float[2] x, bool c",
        """s = If(c)<then_branch = t () => (seq(float[a]) p) {p = SequenceConstruct(x)},
                     else_branch = e () => (seq(float[a]) q) {q = SequenceConstruct(x, x)}>
           y = SequenceAt(s, zero)""",
        "it comes from If 's'",
    ),
    "insert-at-run-time": (
        "float[2] x, int64 i", "s = SequenceConstruct(x, x) r = SequenceInsert(s, x, i) y = SequenceAt(r, zero)", "only known at run time",
    ),
    "erase-where-the-caller-says": (
        "float[2] x, int64 i = {0}", "s = SequenceConstruct(x, x) r = SequenceErase(s, i) y = SequenceAt(r, zero)",
        "position 'i' may be overridden by the caller",
    ),
    "run-time-position-of-elements-unlike-twice": (
        "float[2, 3] x, float[3, 2] z, int64 i", "s = SequenceConstruct(x, z) r = SequenceAt(s, i) y = Reshape(r, first)",
        "may have different lengths along axes 0 and 1",
    ),
    "run-time-position-of-unknown-lengths": (
        "float[N, M] x, float[N, M] z, int64 i", "s = SequenceConstruct(x, z) r = SequenceAt(s, i) y = Reshape(r, first)",
        "may have different lengths along axes 0 and 1",
    ),
    "run-time-position-of-other-ranks": (
        "float[2] x, float[2, 1] z, int64 i", "s = SequenceConstruct(x, z) y = SequenceAt(s, i)", "not known to have one number of dimensions",
    ),
    "nothing-to-concatenate": ("float[2] x", "s = SequenceEmpty() y = ConcatFromSequence<axis = 0>(s)", "the sequence is empty"),
    "out-of-range-in-a-branch-may-never-run": (
        "float[2] x, bool c",
        """s = SequenceConstruct(x, x)
           y = If(c)<then_branch = t () => (float[a] p) {p = SequenceAt(s, seven)},
                     else_branch = e () => (float[a] q) {q = SequenceAt(s, one)}>""",
        "position 7 is out of range of a sequence of 2 elements: it fails if it runs",
    ),
    "carried-by-a-loop": (
        "float[2] x, int64 n",
        """s = SequenceConstruct(x, x) t = Cast<to = 9>(one)
           r = Loop(n, t, s)<body = b (int64 i, bool k, seq(float[a]) c) => (bool k2, seq(float[a]) d) {
               k2 = Identity(k) e = SequenceAt(c, zero) d = SequenceInsert(c, e)}>
           y = SequenceAt(r, zero)""",
        "it is an input of the Loop 'r' body",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "body", "reason"), LEFT.values(), ids=LEFT)
def test_left_with_its_reason(inputs: str, body: str, reason: str) -> None:
    source = helpers.model(f"g ({inputs}) => (float[b] y) <{POSITIONS}> {{{body}}}", 16)
    result = simplify(source)
    assert [remark.message for remark in result.report.remarks if remark.kind == "left" and reason in remark.message]
    assert sequence_operators(result.model)


INVALID = {
    "at-too-far": ("y = SequenceAt(s, seven)", "SequenceAt 'y' (main graph) is invalid: position 7 is out of range of a sequence of 2"),
    "erase-too-far": ("r = SequenceErase(s, seven) y = SequenceAt(r, zero)", "SequenceErase 'r' (main graph) is invalid: position 7"),
    "insert-too-far": ("r = SequenceInsert(s, x, seven) y = SequenceAt(r, zero)", "SequenceInsert 'r' (main graph) is invalid"),
    "at-of-nothing": ("e = SequenceEmpty() y = SequenceAt(e, zero)", "out of range of a sequence of 0 elements"),
    "erase-of-nothing": ("e = SequenceEmpty() r = SequenceErase(e) y = SequenceAt(r, zero)", "out of range of a sequence of 0 elements"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "message"), INVALID.values(), ids=INVALID)
def test_a_position_that_is_not_there_is_an_invalid_model(body: str, message: str) -> None:
    source = helpers.model(f"g (float[2] x) => (float[b] y) <{POSITIONS}> {{s = SequenceConstruct(x, x) {body}}}", 13)
    assert message in helpers.invalidity(source, 13)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Z = X + 10
W = np.arange(3, dtype=np.float32).reshape(1, 3) - 5
FEEDS = {"x": X, "z": Z, "w": W}

DISSOLVED: dict[str, tuple[str, Any]] = {
    "at": ("s = SequenceConstruct(x, z, w) y = SequenceAt(s, one)", Z),
    "at-from-the-end": ("s = SequenceConstruct(x, z, w) y = SequenceAt(s, last)", W),
    "at-int32": ("i = Constant<value = int32 {-3}>() s = SequenceConstruct(x, z, w) y = SequenceAt(s, i)", X),
    "at-a-computed-position": ("s = SequenceConstruct(x, z) n = SequenceLength(s) i = Sub(n, one) y = SequenceAt(s, i)", Z),
    "same-position-twice": ("s = SequenceConstruct(x, z) a = SequenceAt(s, one) b = SequenceAt(s, one) y = Sub(a, b)", Z - Z),
    "one-value-is-two-elements": ("s = SequenceConstruct(x, x) a = SequenceAt(s, one) y = Add(a, x)", X + X),
    "insert-at-the-end": ("s = SequenceConstruct(x) r = SequenceInsert(s, z) y = SequenceAt(r, last)", Z),
    "insert-at-the-front": ("s = SequenceConstruct(x) r = SequenceInsert(s, z, zero) y = SequenceAt(r, zero)", Z),
    "insert-before-the-last": ("s = SequenceConstruct(x, w) r = SequenceInsert(s, z, last) y = SequenceAt(r, one)", Z),
    "insert-with-an-empty-name": ('s = SequenceConstruct(x) r = SequenceInsert(s, z, absent) y = SequenceAt(r, one)', Z),
    "insert-into-nothing": ("s = SequenceEmpty() r = SequenceInsert(s, z) y = SequenceAt(r, zero)", Z),
    "erase-the-last": ("s = SequenceConstruct(x, z, w) r = SequenceErase(s) y = SequenceAt(r, last)", Z),
    "erase-the-first": ("s = SequenceConstruct(x, z, w) r = SequenceErase(s, zero) y = SequenceAt(r, zero)", Z),
    "erase-from-the-end": ("s = SequenceConstruct(x, z, w) r = SequenceErase(s, last) y = SequenceAt(r, last)", Z),
    "erase-all-insert-one": ("s = SequenceConstruct(x) e = SequenceErase(s) r = SequenceInsert(e, z) y = SequenceAt(r, zero)", Z),
    "length": ("s = SequenceConstruct(x, z, w) n = SequenceLength(s) y = Cast<to = 1>(n)", np.float32(3)),
    "length-of-nothing": ("s = SequenceEmpty<dtype = 7>() n = SequenceLength(s) y = Cast<to = 1>(n)", np.float32(0)),
    "concat": ("s = SequenceConstruct(x, w, z) y = ConcatFromSequence<axis = 0>(s)", np.concatenate([X, W, Z])),
    "concat-last-axis": ("s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = -1>(s)", np.concatenate([X, Z], -1)),
    "concat-of-one": ("s = SequenceConstruct(x) y = ConcatFromSequence<axis = 1>(s)", X),
    "stack": ("s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = 0, new_axis = 1>(s)", np.stack([X, Z])),
    "stack-inside": ("s = SequenceConstruct(x, z, x) y = ConcatFromSequence<axis = 1, new_axis = 1>(s)", np.stack([X, Z, X], 1)),
    "stack-at-the-end": ("s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = -1, new_axis = 1>(s)", np.stack([X, Z], -1)),
    "stack-in-front-of-the-end": ("s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = -2, new_axis = 1>(s)", np.stack([X, Z], -2)),
    "stack-of-one": ("s = SequenceConstruct(x) y = ConcatFromSequence<axis = 2, new_axis = 1>(s)", X[:, :, None]),
    "two-readers": (
        "s = SequenceConstruct(x, z) a = SequenceAt(s, zero) c = ConcatFromSequence<axis = 0>(s) y = Concat<axis = 0>(a, c)",
        np.concatenate([X, X, Z]),
    ),
    "split-put-together-again": ("s = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = -1>(s)", X),
    "unbound-and-stacked-again": (
        "s = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = 1, new_axis = 1>(s)", X,
    ),
    "unbound-and-transposed": (
        "s = SplitToSequence<axis = 1, keepdims = 0>(x) y = ConcatFromSequence<axis = 0, new_axis = 1>(s)", X.T,
    ),
    "split-concatenated-along-another-axis": (
        "s = SplitToSequence<axis = 1>(x) y = ConcatFromSequence<axis = 0>(s)", X.T.reshape(6, 1),
    ),
}  # fmt: skip
TARGETS = helpers.known(8, 11, 13, 18, 25)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("body", "expected"), DISSOLVED.values(), ids=DISSOLVED)
def test_dissolved_at_every_target(body: str, expected: np.ndarray, target: int) -> None:
    assert_dissolved(body, expected, 12 if target < 18 else 18, target)


def assert_dissolved(body: str, expected: np.ndarray, opset: int, target: int) -> onnx.ModelProto:
    dims = ", ".join("abcd"[: np.ndim(expected)])
    output = f"float[{dims}] y" if dims else "float y"
    text = f"g (float[2, 3] x, float[2, 3] z, float[1, 3] w) => ({output}) <{POSITIONS}> {{{body}}}"
    result = convert_version(helpers.without(helpers.model(text, opset), "absent"), target).model
    assert sequence_operators(result) == set()
    np.testing.assert_array_equal(helpers.run(result, FEEDS)[0], expected, strict=True)
    return result


EXACT_RESULT = {
    "split-put-together-again": ["Identity"],
    "unbound-and-stacked-again": ["Identity"],
    "one-value-is-two-elements": ["Add"],
    "at": ["Identity"],
}


@pytest.mark.parametrize("case", EXACT_RESULT)
def test_nothing_needless_stays(case: str) -> None:
    result = assert_dissolved(*DISSOLVED[case], 13, 13)
    assert operators(result) == EXACT_RESULT[case]
    assert {tensor.name for tensor in result.graph.initializer} <= {"zero", "one", "last", "seven", "first"}


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("shape", ["", "[1]"], ids=["scalar", "vector"])
@pytest.mark.parametrize("position", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("elements", ["split", "ragged-split", "unbound", "alike", "unlike", "open", "of-one-length"])
def test_run_time_position(elements: str, position: int, shape: str, kind: str) -> None:
    makers = {
        "split": ("s = SplitToSequence<axis = 1>(x, two)", [X6[:, 0:2], X6[:, 2:4], X6[:, 4:6]], 2),
        "ragged-split": ("s = SplitToSequence<axis = -1>(x, sizes)", [X6[:, 0:1], X6[:, 1:1], X6[:, 1:6]], 2),
        "unbound": ("s = SplitToSequence<axis = 0, keepdims = 0>(v)", list(V), 1),
        "alike": ("a = Neg(v) b = Abs(v) s = SequenceConstruct(a, v, b)", [-V, V, abs(V)], 2),
        "unlike": ("a = Concat<axis = 0>(v, v) b = Abs(v) s = SequenceConstruct(a, v, b)", [np.vstack([V, V]), V, abs(V)], 2),
        "open": ("a = Concat<axis = 0>(x, x) s = SequenceConstruct(a, x, a)", [np.vstack([X6, X6]), X6, np.vstack([X6, X6])], 2),
        "of-one-length": ("a = Transpose(x) b = Neg(a) s = SequenceConstruct(a, b, a)", [X6.T, -X6.T, X6.T], 2),
    }
    made, parts, rank = makers[elements]
    text = f"""g (float[N, 6] x, float[3, 2] v, {kind}{shape} i) => (float[{", ".join("ab"[:rank])}] y)
    <int64 two = {{2}}, int64[3] sizes = {{1, 0, 5}}> {{{made} y = SequenceAt(s, i)}}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    index = np.array(position, kind).reshape([1] if shape else [])
    np.testing.assert_array_equal(helpers.run(result, {"x": X6, "v": V, "i": index})[0], parts[position], strict=True)


@pytest.mark.parametrize("target", TARGETS)
def test_run_time_position_and_sizes(target: int) -> None:
    text = """g (float[N, 6] x, int64[3] sizes, int64 i) => (float[a, b] y) {s = SplitToSequence<axis = 0>(x, sizes) y = SequenceAt(s, i)}"""
    result = convert_version(helpers.model(text, 13), target).model
    assert sequence_operators(result) == set()
    for position in (0, 2, -2):
        given = {"x": X6, "sizes": np.array([1, 0, 1]), "i": np.array(position)}
        expected = np.split(X6, [1, 1])[position]
        np.testing.assert_array_equal(helpers.run(result, given)[0], expected, strict=True)


@pytest.mark.parametrize("position", [0, 1, -1])
def test_lists_of_strings_are_sliced(position: int) -> None:
    """onnxruntime loses strings if a Gather takes more than one of them at a time."""
    text = "g (string[2] x, string[2] z, int64 i) => (string[a] y) {s = SequenceConstruct(x, z) y = SequenceAt(s, i)}"
    result = simplify(helpers.model(text, 13)).model
    assert operators(result) == ["Concat", "Gather", "Gather", "Slice"]
    given = {"x": np.array(["a", "b"], object), "z": np.array(["c", "d"], object), "i": np.array(position)}
    assert helpers.run(result, given)[0].tolist() == [["a", "b"], ["c", "d"]][position]


X6 = np.arange(12, dtype=np.float32).reshape(2, 6)
V = np.arange(6, dtype=np.float32).reshape(3, 2) - 2


@pytest.mark.parametrize(
    "elements",
    [
        "SplitToSequence<axis = 0>(v)",
        "SplitToSequence<axis = 0>(v, sizes)",
        "SequenceConstruct(v, v)",
        "SequenceConstruct(v, w, v)",
    ],
)
def test_a_run_time_position_out_of_range_still_fails(elements: str) -> None:
    text = f"""g (float[3, 2] v, int64 i) => (float[a, b] y) <int64[3] sizes = {{2, 1, 0}}>
    {{w = Concat<axis = 0>(v, v) s = {elements} y = SequenceAt(s, i)}}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    for position in (3, -4):
        with pytest.raises(AssertionError, match=r"out of (data )?bounds|out of range"):
            helpers.run(result, {"v": V, "i": np.array(position)})


@pytest.mark.parametrize("target", [target for target in TARGETS if target >= 11])  # before 11, branches had to have one shape
def test_captured_by_subgraphs(target: int) -> None:
    text = f"""g (float[2, 3] x, float[2, 3] z, bool c) => (float[a, b] y, int64 n) <{POSITIONS}> {{
        s = SequenceConstruct(x, z)
        y, n = If(c)<
            then_branch = t () => (float[e, f] p, int64 m) {{r = SequenceInsert(s, x) p = ConcatFromSequence<axis = 0>(r) m = SequenceLength(r)}},
            else_branch = e () => (float[e, f] q, int64 k) {{q = SequenceAt(s, last) k = SequenceLength(s)}}>
    }}"""
    result = convert_version(helpers.model(text, 12), target).model
    assert sequence_operators(result) == set()
    for condition, y, n in ((True, np.concatenate([X, Z, X]), 3), (False, Z, 2)):
        got, length = helpers.run(result, {"x": X, "z": Z, "c": np.array(condition)})
        np.testing.assert_array_equal(got, y, strict=True)
        assert length == n


def test_made_inside_a_loop_from_the_values_of_the_loop() -> None:
    text = f"""g (float[2, 3] x, int64 n) => (float[a, b] y) <{POSITIONS}> {{
        t = Cast<to = 9>(one)
        y = Loop(n, t, x)<body = b (int64 i, bool k, float[2, 3] c) => (bool k2, float[2, 3] d) {{
            k2 = Identity(k) f = Neg(c) s = SequenceConstruct(c, f, x) r = SequenceErase(s, zero)
            g1 = SequenceAt(r, zero) g2 = SequenceAt(r, one) d = Add(g1, g2)}}>
    }}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    expected = X
    for _ in range(3):
        expected = X - expected
    np.testing.assert_array_equal(helpers.run(result, {"x": X, "n": np.array(3)})[0], expected)


def test_an_element_hidden_by_a_loop_variable_is_left() -> None:
    text = f"""g (float[2, 3] x, int64 n) => (float[a, b] y) <{POSITIONS}> {{
        t = Cast<to = 9>(one) e = Neg(x) s = SequenceConstruct(e)
        y = Loop(n, t, x)<body = b (int64 i, bool k, float[2, 3] e) => (bool k2, float[2, 3] d) {{
            k2 = Identity(k) g1 = SequenceAt(s, zero) d = Add(g1, e)}}>
    }}"""
    result = simplify(helpers.model(text, 13))
    assert "'e' is another value inside Loop 'y' body" in "\n".join(map(str, result.report.remarks))
    np.testing.assert_array_equal(helpers.run(result.model, {"x": X, "n": np.array(3)})[0], X - 3 * X)


def test_the_same_names_in_two_branches() -> None:
    text = f"""g (float[2, 3] x, bool c) => (float[a, b] y) <{POSITIONS}> {{
        y = If(c)<then_branch = t () => (float[e, f] p) {{v = Neg(x) s = SequenceConstruct(v, x) u = SequenceAt(s, zero) p = Abs(u)}},
                  else_branch = e () => (float[e, f] q) {{v = Exp(x) s = SequenceConstruct(x, v) u = SequenceAt(s, zero) q = Neg(u)}}>
    }}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set()
    for condition, expected in ((True, abs(X)), (False, -X)):
        np.testing.assert_array_equal(helpers.run(result, {"x": X, "c": np.array(condition)})[0], expected)


def test_inside_a_function() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[2, 6] x) => (float[a, b] y) {y = local.second(x)}
    <domain: "local", opset_import: ["" : 18]> second (x) => (y) {
        two = Constant<value = int64 {2}>() one = Constant<value = int64 {1}>()
        s = SplitToSequence<axis = 1>(x, two) y = SequenceAt(s, one)
    }"""
    result = convert_version(helpers.model(text), 13).model
    assert sequence_operators(result) == set()
    np.testing.assert_array_equal(helpers.run(result, {"x": X6})[0], X6[:, 2:4])


def test_through_identity() -> None:
    text = (
        f"g (float[2, 3] x) => (float[a, b] y) <{POSITIONS}> {{s = SequenceConstruct(x) r = Identity(s) y = SequenceAt(r, zero)}}"
    )
    assert operators(simplify(helpers.model(text, 14)).model) == ["Identity"]


def test_sequence_outputs_stay_and_only_they() -> None:
    text = f"""g (float[2, 3] x, float[2, 3] z) => (seq(float[a, b]) r, float[a, b] y) <{POSITIONS}>
    {{s = SequenceConstruct(x) r = SequenceInsert(s, z, zero) y = SequenceAt(r, one)}}"""
    converted = convert_version(helpers.model(text, 11), 18)
    result = converted.model
    assert [remark.message for remark in converted.report.remarks] == ["'r' is an output of the main graph"]
    assert operators(result) == ["Identity", "SequenceConstruct"]
    r, y = helpers.run(result, {"x": X, "z": Z})
    np.testing.assert_array_equal(r, [Z, X])
    np.testing.assert_array_equal(y, X)


def test_a_dead_sequence_does_not_block() -> None:
    text = f"g (float[2, 3] x) => (float[a, b] y) <{POSITIONS}> {{s = SequenceConstruct(x, x) t = Neg(x) y = SequenceAt(s, one)}}"
    assert operators(convert_version(helpers.model(text, 11), 9).model) == ["Identity", "Neg"]


SEQUENCE_MAP = {
    "one-sequence": ("s", "", "float[p, q] e", "o = Neg(e)", [-X, -Z]),
    "two-sequences": ("s, r", "", "float[p, q] e, float[p, q] f", "o = Sub(e, f)", [X - Z, Z - X]),
    "a-tensor-beside-it": ("s, x", "", "float[p, q] e, float[p, q] f", "o = Sub(e, f)", [X - X, Z - X]),
    "captures": ("s", "", "float[p, q] e", "o = Sub(e, x)", [X - X, Z - X]),
    "stored-in-the-body": ("s", "<float[1] k = {2}>", "float[p, q] e", "o = Mul(e, k)", [X * 2, Z * 2]),
    "the-input-itself": ("s", "", "float[p, q] e", "n = Neg(e) o = Identity(e)", [X, Z]),
    "a-subgraph-inside": (
        "s", "", "float[p, q] e",
        """t = ReduceSum<keepdims = 0>(e) h = Greater(t, limit)
           o = If(h)<then_branch = t1 () => (float[p, q] a1) {b1 = Neg(e) a1 = Abs(b1)}, else_branch = e1 () => (float[p, q] a2) {a2 = Neg(e)}>""",
        [-X, abs(Z)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", [11, 17, 21])
@pytest.mark.parametrize(("inputs", "stored", "arguments", "body", "expected"), SEQUENCE_MAP.values(), ids=SEQUENCE_MAP)
def test_sequence_map(inputs: str, stored: str, arguments: str, body: str, expected: list[np.ndarray], target: int) -> None:
    text = f"""g (float[2, 3] x, float[2, 3] z) => (seq(float[a, b]) y) <float limit = {{16}}> {{
        s = SequenceConstruct(x, z) r = SequenceConstruct(z, x)
        y = SequenceMap({inputs})<body = b ({arguments}) => (float[p, q] o) {stored} {{{body}}}>
    }}"""
    result = convert_version(helpers.model(text, 17), target).model
    assert sequence_operators(result) == {"SequenceConstruct"}
    np.testing.assert_array_equal(helpers.run(result, {"x": X, "z": Z})[0], expected)


def test_sequence_map_over_nothing() -> None:
    text = """g (float[2] x) => (int64 n) {
        s = SequenceEmpty() y = SequenceMap(s)<body = b (float[p] e) => (float[p] o) {o = Neg(e)}> n = SequenceLength(y)
    }"""
    assert operators(simplify(helpers.model(text, 17)).model) == ["Constant"]


def test_a_chain_of_inserts_is_dissolved_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "MOST_ELEMENTS", 10)
    for length, expected in ((10, ["Concat"]), (11, ["ConcatFromSequence", "SequenceConstruct", "SequenceInsert"])):
        inserts = "\n".join(f"s{i + 1} = SequenceInsert (s{i}, x)" for i in range(length))
        text = f"g (float[2] x) => (float[n] y) {{ s0 = SequenceEmpty ()\n {inserts}\n y = ConcatFromSequence <axis = 0> (s{length}) }}"
        assert operators(simplify(helpers.model(text, 17)).model) == expected


@pytest.mark.parametrize(
    ("chain", "result"),
    [
        ("b = SequenceInsert (a, z)\n c = SequenceInsert (b, x)", "b"),
        ("b = SequenceInsert (a, z)\n i = Identity (b)\n c = SequenceInsert (b, x)", "i"),
        ("b = SequenceInsert (a, z)\n i = Identity (b)\n c = SequenceInsert (i, x)", "i"),
        ("b = SequenceInsert (a, z)\n c = SequenceErase (b)", "b"),
    ],
    ids=["read-twice", "read-by-identity-too", "read-through-identity", "erased"],
)
def test_a_sequence_that_something_else_reads_keeps_its_elements(chain: str, result: str) -> None:
    text = f"g (float[2] x, float[2] z) => (float[n] y, float[m] w) {{ a = SequenceConstruct (x, z)\n {chain}\n y = ConcatFromSequence <axis = 0> ({result})\n w = ConcatFromSequence <axis = 0> (c) }}"
    x, z = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    proto = helpers.model(text, 17)
    assert sequence_operators(helpers.assert_same(proto, 17, {"x": x, "z": z})) == set()


REWRITES = [
    (
        "sequences.concat_elements",
        13,
        13,
        "g (float[1] a, float[2] b) => (float[3] y) { s = SequenceConstruct (a, b) y = ConcatFromSequence <axis = 0> (s) }",
        "{ y = Concat <axis = 0> (a, b) }",
    ),
    (
        "sequences.count_elements",
        13,
        13,
        "g (float[1] a, float[2] b) => (int64 y) { s = SequenceConstruct (a, b) y = SequenceLength (s) }",
        "{ y = Constant <value = int64 {2}> () }",
    ),
    (
        "sequences.pick_element",
        13,
        13,
        "g (float[1] a, float[2] b) => (float[2] y) <int64 i = {-1}> { s = SequenceConstruct (a, b) e = SequenceAt (s, i) y = Relu (e) }",
        "{ y = Relu (b) }",
    ),
    (
        "sequences.insert_element",
        13,
        13,
        "g (float[1] a, float[1] b) => (float[2] y) { s = SequenceConstruct (a) t = SequenceInsert (s, b) y = ConcatFromSequence <axis = 0> (t) }",
        "{ y = Concat <axis = 0> (a, b) }",
    ),
    (
        "sequences.erase_element",
        13,
        13,
        "g (float[1] a, float[1] b) => (float[1] y) <int64 i = {0}> { s = SequenceConstruct (a, b) t = SequenceErase (s, i) y = ConcatFromSequence <axis = 0> (t) }",
        "{ y = Identity (b) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize(
    ("attributes", "other"), [("axis = 0", "[2,0]"), ("axis = 1, new_axis = 1", "[2,0]"), ("axis = 1", "[2,3,1]")]
)
def test_elements_that_do_not_fit_together_stay(attributes: str, other: str) -> None:
    """onnxruntime takes an empty one for any other, against the specification."""
    text = f"g (float[2,3] x, float{other} z) => (float[A,B] y) {{ s = SequenceConstruct(x, z) y = ConcatFromSequence<{attributes}>(s) }}"
    result = helpers.simplify(helpers.model(text, 13))
    assert [node.op_type for node in result.model.graph.node] == ["SequenceConstruct", "ConcatFromSequence"]
    assert any("its elements " in str(remark) for remark in result.report.remarks)


@pytest.mark.parametrize("declared", ["N", "A, B", "7", "6", "a"])
@pytest.mark.parametrize("place", ["output", "value", "value behind it"])
def test_the_shape_of_an_element_outranks_what_is_declared_of_it(declared: str, place: str) -> None:
    name = "y" if place == "value behind it" else "t"
    outputs = f"float[{declared}] t, int64 n" if place == "output" else "int64 n"
    info = "" if place == "output" else f"float[{declared}] {name}, "
    source = helpers.model(
        f"""g (float[6] v, float[2, 6] w) => ({outputs}) <{info}int64 zero = {{0}}> {{
            s = SequenceConstruct(v, w)
            t = SequenceAt(s, zero)
            y = Relu(t)
            parts = SplitToSequence<axis = 0>(y)
            longer = SequenceInsert(parts, t)
            n = SequenceLength(longer)
        }}""",
        13,
    )
    result = convert_version(source, compare="auto").model
    assert not sequence_operators(result)
    feeds = {"v": np.arange(6, dtype=np.float32), "w": np.zeros((2, 6), np.float32)}
    assert helpers.run(result, feeds)[-1] == 7


@pytest.mark.parametrize("kind", ["int64[1]", "int64[a]"])
def test_the_number_of_an_iteration_may_be_declared_as_a_vector(kind: str) -> None:
    body = f"turn ({kind} i, bool c, float[2] p) => (bool d, float[2] q) {{ d = Identity(c) r = Cast<to = 1>(i) q = Add(p, r) }}"
    source = helpers.model(f"g (float[2] x, int64 n) => (float[2] y) {{ y = Loop<body = {body}>(n, , x) }}", 13)
    assert operators(convert_version(source, 11).model) == ["Add", "Cast", "Identity", "Loop"]
