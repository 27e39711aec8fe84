"""SplitToSequence: what is left alone and why, then what it becomes in the form of every opset, against numpy."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, simplify

from split_rewrite import rewriter
from split_rewrite.rewriter import Options
from split_rewrite.rewriter.structure.survey import all_graphs

OPSETS = helpers.known(11, 13, 18, 24)
TARGETS = helpers.known(9, 11, 13, 18, 25)


def operators(proto: onnx.ModelProto) -> set[str]:
    return {node.op_type for graph in all_graphs(proto) for node in graph.node}


def sequence_operators(proto: onnx.ModelProto) -> set[str]:
    return {op_type for op_type in operators(proto) if "Sequence" in op_type}


LEFT = {
    "split-at-run-time-has-no-known-length": (
        13, "g (float[6] x, int64[n] c) => (seq(float[a]) s) {s = SplitToSequence(x, c)}", "only known at run time",
    ),
    "split-at-run-time-is-scalar": (
        13, "g (float[6] x, int64 c) => (seq(float[a]) s) {s = SplitToSequence(x, c)}", "only known at run time",
    ),
    "split-may-be-overridden": (
        13, "g (float[6] x, int64 c = {2}) => (seq(float[a]) s) {s = SplitToSequence(x, c)}", "may be overridden by the caller",
    ),
    "dimension-unknown": (
        13, "g (float[N] x) => (seq(float[a]) s) <int64 c = {2}> {s = SplitToSequence(x, c)}", "the axis dimension 'N' of 'x' is unknown",
    ),
    "dimension-unknown-and-parts-of-1": (
        13, "g (float[2, N] x) => (seq(float[a, b]) s) {s = SplitToSequence<axis = -1>(x)}", "the axis dimension 'N' of 'x' is unknown",
    ),
    "more-parts-than-a-graph-should-have": (
        13, "g (float[4097] x) => (seq(float[a]) s) {s = SplitToSequence(x)}", "makes 4097 parts",
    ),
    "bfloat16-has-no-other-sequence-operator": (
        24, "g (bfloat16[4] x) => (seq(bfloat16[a]) s) {s = SplitToSequence(x)}", "elements are bfloat16",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "text", "reason"), LEFT.values(), ids=LEFT)
def test_left_with_its_reason(opset: int, text: str, reason: str) -> None:
    if not helpers.known(opset):
        pytest.skip("the installed onnx is older")
    source = helpers.model(text, opset, ir_version=10)
    result = simplify(source)
    assert result.model == source
    assert [remark.message for remark in result.report.remarks if reason in remark.message]


def test_left_blocks_only_a_target_that_cannot_hold_it() -> None:
    source = helpers.model("g (float[N] x) => (seq(float[a]) s) {s = SplitToSequence(x)}", 13)
    assert sequence_operators(convert_version(source, 11).model) == {"SplitToSequence"}
    assert "SplitToSequence" in helpers.refusal(source, 10)


SPLITS = {  # attributes, split, and the parts of a dimension of 5 (None: no such part)
    "sizes": ("", "int64[3] c = {1, 4, 0}", [1, 4, 0]),
    "sizes-int32": ("", "int32[2] c = {2, 3}", [2, 3]),
    "one-size-is-a-list": ("", "int64[1] c = {5}", [5]),
    "sizes-ignore-keepdims": ("keepdims = 0", "int64[5] c = {1, 1, 1, 1, 1}", [1] * 5),
    "scalar-even": ("", "int64 c = {1}", [1] * 5),
    "scalar-uneven": ("", "int64 c = {2}", [2, 2, 1]),
    "scalar-int32": ("", "int32 c = {3}", [3, 2]),
    "scalar-larger-than-the-dimension": ("", "int64 c = {9}", [5]),
    "scalar-ignores-keepdims": ("keepdims = 0", "int64 c = {2}", [2, 2, 1]),
    "absent": ("", "", [1] * 5),
    "absent-keepdims-1": ("keepdims = 1", "", [1] * 5),
    "absent-keepdims-2": ("keepdims = 2", "", [1] * 5),
}
SHAPES = {"static": "[3, 5]", "symbolic": "[N, 5]"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("split", SPLITS)
def test_every_form(split: str, opset: int, target: int) -> None:
    attributes, initializer, sizes = SPLITS[split]
    axis = 1 if opset % 2 else -1
    assert_parts(split_text("[N, 5]", axis, attributes, initializer, len(sizes)), opset, target, 1, sizes, keepdims=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_parts_of_1_lose_their_axis_without_keepdims(shape: str, opset: int, target: int) -> None:
    text = split_text(shape, 1, "keepdims = 0", "", 5)
    assert_parts(text, opset, target, 1, [1] * 5, keepdims=False)


def test_sizes_need_no_shape() -> None:
    text = split_text("", 0, "", "int64[2] c = {1, 2}", 2)
    result = convert_version(helpers.model(text, 18), 18).model
    assert sequence_operators(result) == set()


def test_the_empty_name_is_an_absent_split() -> None:
    # Shape inference takes the empty name for a split, and the elements for matrices: Reshape fits both.
    text = """g (float[3, 2] x) => (float[3] y) <int64 one = {1}, int64[1] flat = {-1}>
    {s = SplitToSequence<axis = 1, keepdims = 0>(x, absent) e = SequenceAt(s, one) y = Reshape(e, flat)}"""
    result = simplify(helpers.without(helpers.model(text, 18), "absent")).model
    assert operators(result) == {"Split", "Squeeze", "Reshape"}
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(helpers.run(result, {"x": x})[0], x[:, 1], strict=True)


def split_text(shape: str, axis: int, attributes: str, initializer: str, count: int) -> str:
    """The parts of a SplitToSequence, each picked at its position, the later half from the end."""
    positions = [index if index < count / 2 else index - count for index in range(count)]
    constants = [*([initializer] if initializer else []), *(f"int64 i{i} = {{{at}}}" for i, at in enumerate(positions))]
    outputs = [f"float[{', '.join('abcd'[:2])}] y{i}" for i in range(count)]
    if "keepdims = 0" in attributes and not initializer:
        outputs = [f"float[a] y{i}" for i in range(count)]
    if shape == "":
        outputs = [f"float[a] y{i}" for i in range(count)]
        shape = "[N]"
    listed = ", ".join(filter(None, [f"axis = {axis}", attributes]))
    split = f"s = SplitToSequence<{listed}>(x{', c' if initializer else ''})"
    picks = "\n".join(f"y{i} = SequenceAt(s, i{i})" for i in range(count))
    return f"g (float{shape} x) => ({', '.join(outputs)}) <{', '.join(constants)}> {{\n{split}\n{picks}\n}}"


def assert_parts(text: str, opset: int, target: int, axis: int, sizes: list[int], keepdims: bool) -> None:
    result = convert_version(helpers.model(text, opset), target).model
    assert operators(result) <= {"Split", "Squeeze", "Identity"}
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    expected = np.split(x, np.cumsum(sizes)[:-1], axis=axis)
    for got, want in zip(helpers.run(result, {"x": x}), expected, strict=True):
        np.testing.assert_array_equal(got, want if keepdims else np.squeeze(want, axis), strict=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_run_time_sizes_of_known_number(kind: str, target: int) -> None:
    text = f"""g (float[N] x, {kind}[2] c) => (float[a] y, float[b] z) <int64 zero = {{0}}, int64 last = {{-1}}>
    {{s = SplitToSequence(x, c) y = SequenceAt(s, zero) z = SequenceAt(s, last)}}"""
    result = convert_version(helpers.model(text, 13), target).model
    assert sequence_operators(result) == set()
    x = np.arange(5, dtype=np.float32)
    y, z = helpers.run(result, {"x": x, "c": np.array([4, 1], kind)})
    np.testing.assert_array_equal(y, x[:4])
    np.testing.assert_array_equal(z, x[4:])


@pytest.mark.parametrize("split", ["", "<int64 c = {2}>"], ids=["absent", "scalar"])
def test_nothing_to_split_is_an_empty_sequence(split: str) -> None:
    operand = ", c" if split else ""
    text = f"g (double[0, 3] x) => (seq(double[a, b]) s, int64 n) {split} {{s = SplitToSequence(x{operand}) n = SequenceLength(s)}}"
    result = simplify(helpers.model(text, 13)).model
    assert [node.op_type for node in result.graph.node] == ["SequenceEmpty", "Constant"]
    s, n = helpers.run(result, {"x": np.zeros((0, 3))})
    assert s == [] and n == 0


def test_a_sequence_that_is_an_output_stays_for_that_only() -> None:
    text = """g (float[4] x) => (seq(float[a]) s, float[b] y) <int64 c = {3}, int64 one = {1}>
    {s = SplitToSequence(x, c) y = SequenceAt(s, one)}"""
    result = convert_version(helpers.model(text, 13), 18).model
    assert [node.op_type for node in result.graph.node] == ["Split", "SequenceConstruct"] or "Identity" in operators(result)
    x = np.arange(4, dtype=np.float32)
    (first, second), y = helpers.run(result, {"x": x})
    np.testing.assert_array_equal(first, x[:3])
    np.testing.assert_array_equal(second, x[3:])
    np.testing.assert_array_equal(y, x[3:])
    assert "SequenceConstruct" in helpers.refusal(helpers.model(text, 13), 10)


def test_a_sequence_that_nothing_reads_goes() -> None:
    text = "g (float[4] x) => (float[4] y) {s = SplitToSequence(x) y = Neg(x)}"
    assert operators(simplify(helpers.model(text, 13)).model) == {"Neg"}


SCALAR_WITHOUT_KEEPDIMS = """g (float[4] x) => (float[a] y) <int64 c = {1}, int64 one = {1}>
{s = SplitToSequence<keepdims = 0>(x, c) y = SequenceAt(s, one)}"""


def test_two_meanings_are_left_where_the_target_has_the_node() -> None:
    source = helpers.model(SCALAR_WITHOUT_KEEPDIMS, 13)
    result = convert_version(source, 18)
    assert sequence_operators(result.model) == {"SplitToSequence", "SequenceAt"}
    assert {remark.kind for remark in result.report.remarks} == {"left"}
    assert "by the specification keepdims=0 is ignored" in helpers.refusal(source, 10)
    assert "--semantics specification or --semantics onnxruntime" in helpers.refusal(source, 10)


def test_the_caller_decides_between_two_meanings() -> None:
    text = """g (float[4] x) => (int64[a] n) <int64 c = {1}, int64 one = {1}>
    {s = SplitToSequence<keepdims = 0>(x, c) y = SequenceAt(s, one) n = Shape(y)}"""
    source = helpers.model(text, 13)
    for semantics, rank, runtime in (("specification", 1, "onnx.reference"), ("onnxruntime", 0, "onnxruntime")):
        options = Options(semantics=semantics)
        result = rewriter.convert_version(source, 11, compare="required", options=options).model
        assert sequence_operators(result) == set()
        for proto, how in ((source, runtime), (result, "onnxruntime")):
            assert helpers.run(proto, {"x": np.zeros(4, np.float32)}, how)[0].shape == (rank,)


def test_types_of_removed_values_go_and_new_ones_have_none() -> None:
    text = """g (float[4] x) => (float[b] y) <int64 c = {3}, int64 one = {1}, seq(float[u]) s, float[k] part>
    {s = SplitToSequence(x, c) part = SequenceAt(s, one) y = Neg(part)}"""
    result = simplify(helpers.model(text, 13)).model
    assert sequence_operators(result) == set() and not result.graph.value_info


def test_a_rule_can_be_left_out_by_name() -> None:
    source = helpers.model(SCALAR_WITHOUT_KEEPDIMS, 13)
    assert simplify(source, options=Options(skip=frozenset({"split_to_sequence", "sequence_parts"}))).model == source


@pytest.mark.parametrize("opset", helpers.known(13, 24))
def test_types_without_a_runtime_kernel(opset: int) -> None:
    text = """g (uint8[5] x) => (uint8[a] y) <int64 c = {2}, int64 last = {-1}>
    {s = SplitToSequence(x, c) y = SequenceAt(s, last)}"""
    result = convert_version(helpers.model(text, opset, ir_version=10), 21).model
    np.testing.assert_array_equal(helpers.run(result, {"x": np.arange(5, dtype=np.uint8)})[0], [4])


REWRITES = [
    (
        "split_to_sequence.split_then_construct",
        13,
        13,
        "g (float[4] x) => (seq(float[2]) s) <int64 n = {2}> { s = SplitToSequence (x, n) }",
        "<int64[2] v1 = {2, 2}> { v2, v3 = Split <axis = 0> (x, v1) s = SequenceConstruct (v2, v3) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
