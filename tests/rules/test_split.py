"""Split between every pair of its versions: what is refused and why, then what comes out, against numpy."""

from __future__ import annotations

import itertools

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version
from onnx import numpy_helper

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.execution.messages import OPTIMIZED
from split_rewrite.rewriter.opsets import schema_types

VERSIONS = (1, 2, 11, 13, 18)
TARGETS = (1, 2, 9, 10, 11, 12, 13, 17, 18, 21)
SHAPES = {"static": "[4, 7]", "symbolic": "[N, M]", "unknown-rank": "[A, B]"}
SOURCE_OPSETS = {1: 1, 2: 9, 11: 11, 13: 13, 18: 18}
"""The opset of the source model for each version of Split: Reshape, which hides the rank, takes an input from 5."""
SIZES = {"explicit": [3, 1, 3], "zero-length": [0, 7, 0], "equal": [1] * 7, "uneven": [3, 3, 1], "run-time": [2, 4, 1]}
AXES = {"positive": 1, "negative": -1}


def form_of(opset: int) -> int:
    return max(version for version in VERSIONS if version <= opset)


def split_text(version: int, kind: str, axis: int, shape: str) -> str:
    """A model with one Split along the dimension of 7, in the form of `version`."""
    sizes = SIZES[kind]
    outputs = ", ".join(f"y{i}" for i in range(len(sizes)))
    hidden = shape == "unknown-rank"
    attributes, inputs, initializers = [f"axis = {axis}"], ["x"], ""
    graph_inputs = [f"float{SHAPES[shape]} {'v' if hidden else 'x'}", *(["int64[K] shape"] if hidden else [])]
    if kind == "run-time":
        graph_inputs.append(f"{'float' if version == 1 else 'int64'}[3] sizes")
        inputs.append("sizes")
    elif kind in ("explicit", "zero-length") and version < 13:
        attributes.append(f"split = {sizes}")
    elif kind in ("explicit", "zero-length"):
        initializers = f"<int64[{len(sizes)}] sizes = {{{', '.join(map(str, sizes))}}}>"
        inputs.append("sizes")
    elif version == 18:
        attributes.append(f"num_outputs = {len(sizes)}")
    results = ", ".join(f"float[P{i}, Q{i}] y{i}" for i in range(len(sizes)))
    reshape = "x = Reshape(v, shape) " if hidden else ""
    return (
        f"g ({', '.join(graph_inputs)}) => ({results}) {initializers}\n"
        f"{{ {reshape}{outputs} = Split<{', '.join(attributes)}>({', '.join(inputs)}) }}"
    )


def exists(version: int, kind: str, axis: int) -> bool:
    if axis < 0 and version < 11:
        return False
    if kind == "run-time":
        return version in (1, 13, 18)
    return kind != "uneven" or version == 18


def expected_refusal(version: int, target: int, kind: str, axis: str, shape: str) -> str:
    """The reason that the specification leaves no way, or ""."""
    sizes_unknown = kind == "run-time" or (version == 18 and kind in ("equal", "uneven") and shape != "static")
    if sizes_unknown and target < 9 and target < version:
        return "computed at run time"
    if sizes_unknown and version == 1 and 1 < target < 9:
        return "computed at run time"
    if axis == "negative" and target < 11 and shape == "unknown-rank" and not (sizes_unknown and target == 9 < version):
        return "the rank of 'x' is unknown"
    if shape == "unknown-rank" and target < 5:
        return "Reshape"
    return ""


CASES = [
    pytest.param(version, target, kind, axis, shape, id=f"{version}-to-{target}-{kind}-{axis}-{shape}")
    for version, target, kind, axis, shape in itertools.product(VERSIONS, TARGETS, SIZES, AXES, SHAPES)
    if form_of(target) != version or target in (9, 10, 12, 17, 21)
    if exists(version, kind, AXES[axis]) and not (shape == "unknown-rank" and min(version, target) < 2)
]


@pytest.mark.parametrize(("version", "target", "kind", "axis", "shape"), CASES)
def test_every_pair(version: int, target: int, kind: str, axis: str, shape: str) -> None:
    source = helpers.model(split_text(version, kind, AXES[axis], shape), SOURCE_OPSETS[version])
    reason = expected_refusal(version, target, kind, axis, shape)
    if reason:
        assert reason in helpers.refusal(source, target)
        return
    result = convert_version(source, target).model
    assert_parts(result, target, SIZES[kind], runs_sizes=kind == "run-time", sizes_are_float=version == 1)


def assert_parts(result: onnx.ModelProto, target: int, sizes: list[int], runs_sizes: bool, sizes_are_float: bool) -> None:
    x = np.arange(28, dtype=np.float32).reshape(4, 7)
    if form_of(target) == 1:
        assert parts_by_attributes(result, x) == sizes
        return
    feeds = {value.name: x if value.name in "xv" else np.array(x.shape) for value in result.graph.input}
    if runs_sizes:
        feeds["sizes"] = np.array(sizes, np.float32 if sizes_are_float else np.int64)
    expected = np.split(x, np.cumsum(sizes)[:-1], axis=1)
    for got, want in zip(helpers.run(result, feeds), expected, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def parts_by_attributes(result: onnx.ModelProto, x: np.ndarray) -> list[int]:
    """No runtime has a kernel for Split-1: read its attributes as its text says."""
    (node,) = result.graph.node
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    assert node.op_type == "Split" and len(node.input) == 1 and attributes["axis"] == 1
    return list(attributes.get("split", [x.shape[1] // len(node.output)] * len(node.output)))


REFUSED = {
    "float-sizes-not-whole": (
        1, 13, "g (float[4] x) => (float[A0] a, float[B0] b) <float[2] s = {1.5, 2.5}> {a, b = Split<axis=0>(x, s)}",
        "are not whole numbers",
    ),
    "opset-1-without-axis": (1, 2, "g (float[4,4] x) => (float[A0, 4] a, float[B0, 4] b) {a, b = Split(x)}", "axis is not given"),
    "integers-at-1": (2, 1, "g (int64[4] x) => (int64[A0] a, int64[B0] b) {a, b = Split(x)}", "int64"),
    "overridable-sizes": (
        13, 5, "g (float[4] x, int64[2] s = {1, 3}) => (float[A0] a, float[B0] b) {a, b = Split(x, s)}", "the sizes 's' are computed at run time",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("version", "target", "text", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses(version: int, target: int, text: str, reason: str) -> None:
    blockers = helpers.refusal(helpers.model(text, version), target).splitlines()
    assert all(blocker.startswith("Split '") and reason in blocker for blocker in blockers)


INVALID = {
    "both": (18, "{a, b = Split<num_outputs = 2>(x, s)}", "both split and num_outputs"),
    "neither": (18, "{a, b = Split(x)}", "neither split nor num_outputs"),
    "empty-name-is-neither": (18, "{a, b = Split(x, ABSENT)}", "neither split nor num_outputs"),
    "no-outputs-asked": (18, "{a, b = Split<num_outputs = 0>(x)}", "num_outputs is 0"),
    "too-few-asked": (18, "{a, b = Split<num_outputs = 1>(x)}", "2 outputs and num_outputs is 1"),
    "too-many-asked": (18, "{a, b = Split<num_outputs = 5>(odd)}", "cannot make 5 parts"),
    "negative-size": (13, "{a, b = Split(x, negative)}", "negative sizes: [-1, 5]"),
    "too-many-sizes": (13, "{a, b = Split(x, three)}", "3 sizes and the node 2 outputs"),
    "rank-0": (13, "{a, b = Split(x, scalar)}", "has rank 0"),
    "rank-2": (13, "{a, b = Split(x, square)}", "has rank 2"),
    "int32": (13, "{a, b = Split(x, narrow)}", "must be int64 and is int32"),
    "run-time-int32": (13, "{a, b = Split(x, j)}", "must be int64 and is int32"),
    "run-time-rank-0": (13, "{a, b = Split(x, k)}", "has rank 0"),
    "negative-attribute": (11, "{a, b = Split<split = [-1, 5]>(x)}", "negative sizes"),
    "too-few-in-attribute": (11, "{a, b = Split<split = [4]>(x)}", "1 sizes and the node 2 outputs"),
    "two-inputs-at-11": (11, "{a, b = Split(x, s)}", "not a valid model"),
    "uneven": (13, "{a, b = Split(odd)}", "not a valid model"),
    "wrong-sum": (13, "{a, b = Split(f, s5)}", "not a valid model"),
    "wrong-sum-at-1": (1, "{a, b = Split<axis = 0, split = [1, 1]>(f)}", "do not add up to the dimension 4"),
    "uneven-at-1": (1, "{a, b = Split<axis = 0>(odd)}", "does not divide into 2 equal parts"),
}
CAPTURED = "If (c) <then_branch = t () => (float[P] p) {p, q = Split(f, s5)}, else_branch = e () => (float[4] r) {r = Identity(f)}>"
INVALID["wrong-sum-of-captured-sizes"] = (
    13, f"{{c = Constant<value = bool {{1}}>() a = {CAPTURED} b = Identity(f)}}", "do not add up to the dimension 4"
)  # fmt: skip
INVALID_HEAD = """g (float[N] x, float[4] f, float[3] odd, int32[2] j, int64 k) => (float[A0] a, float[B0] b)
<int64[2] s = {1, 3}, int64[2] s5 = {1, 4}, int64[2] negative = {-1, 5}, int64[3] three = {1, 1, 2}, int64 scalar = {4},
 int64[1,2] square = {1, 3}, int32[2] narrow = {1, 3}>
"""


@pytest.mark.parametrize("target", [13, 18])
@pytest.mark.parametrize(("version", "body", "reason"), INVALID.values(), ids=INVALID)
def test_invalid_input(version: int, body: str, reason: str, target: int) -> None:
    assert reason in helpers.invalidity(helpers.model(INVALID_HEAD + body, version), target)


def test_num_outputs_of_a_known_dimension_is_spelled_out() -> None:
    source = helpers.model(
        "g (float[7] x) => (float[A0] a, float[B0] b, float[C0] c, float[D0] d) {a, b, c, d = Split<num_outputs = 4>(x)}"
    )
    result = convert_version(source, 13).model
    assert numpy_helper.to_array(result.graph.initializer[0]).tolist() == [2, 2, 2, 1]
    assert attribute(convert_version(source, 12).model, "split") == [2, 2, 2, 1]


@pytest.mark.parametrize(("dimension", "parts", "sizes"), [(6, 4, [2, 2, 2, 0]), (1, 2, [1, 0]), (2, 3, [1, 1, 0])])
def test_empty_last_part(dimension: int, parts: int, sizes: list[int]) -> None:
    outputs = ", ".join(f"y{i}" for i in range(parts))
    declared = ", ".join(f"float[Y0] y{i}" for i in range(parts))
    text = f"g (float[{dimension}] x) => ({declared}) {{{outputs} = Split<num_outputs = {parts}>(x)}}"
    assert attribute(convert_version(helpers.model(text), 11).model, "split") == sizes


def test_fewer_outputs_than_parts_have_two_meanings() -> None:
    source = helpers.model("g (float[8] x) => (float[A0] a, float[B0] b) {a, b = Split<num_outputs = 4>(x)}")
    assert convert_version(source, 20).model.graph.node[0] == source.graph.node[0]
    message = (
        "by the specification num_outputs=4 counts all parts, and onnxruntime makes the 2 that are outputs of the node, or fails"
    )
    assert message in helpers.refusal(source, 13)
    for semantics, parts in (("specification", ([0, 1], [2, 3])), ("onnxruntime", ([0, 1, 2, 3], [4, 5, 6, 7]))):
        result = convert_version(source, 13, options=Options(semantics=semantics)).model
        answers = helpers.run(result, {"x": np.arange(8, dtype=np.float32)})
        assert [answer.tolist() for answer in answers[:2]] == [*parts]


def test_empty_dimension_is_written_as_sizes() -> None:
    source = helpers.model("g (float[0, 2] x) => (float[A0, 2] a, float[B0, 2] b, float[C0, 2] c) {a, b, c = Split(x)}", 13)
    result = helpers.assert_same(source, 18, {"x": np.zeros((0, 2), np.float32)})
    assert len(result.graph.node[0].input) == 2


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize("target", [17, 13, 12, 10, 9])
def test_sizes_at_run_time_for_every_dimension(target: int, size: int) -> None:
    source = helpers.model(
        "g (float[N, 2] x) => (float[A0, 2] a, float[B0, 2] b, float[C0, 2] c) {a, b, c = Split<num_outputs = 3>(x)}"
    )
    result = convert_version(source, target).model
    x = np.arange(size * 2, dtype=np.float32).reshape(size, 2)
    each = -(-size // 3)
    for got, want in zip(helpers.run(result, {"x": x}), np.split(x, [each, 2 * each]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_empty_outputs_get_names() -> None:
    source = helpers.model("g (float[4] x) => (float[B0] b) <int64[2] s = {1, 3}> {ABSENT, b = Split(x, s)}", 13)
    result = convert_version(source, 11).model
    assert all(result.graph.node[0].output)
    assert helpers.run(result, {"x": np.arange(4, dtype=np.float32)})[0].tolist() == [1, 2, 3]


CONSTANTS = {
    "initializer": "<int64[2] s = {1, 3}> {a, b = Split(x, s)}",
    "constant": "{s = Constant<value = int64[2] {1, 3}>() a, b = Split(x, s)}",
    "value_ints": "{s = Constant<value_ints = [1, 3]>() a, b = Split(x, s)}",
    "identity": "<int64[2] t = {1, 3}> {s = Identity(t) a, b = Split(x, s)}",
    "cast": "<int32[2] t = {1, 3}> {s = Cast<to = 7>(t) a, b = Split(x, s)}",
    "concat": "<int64[1] t = {1}, int64[1] u = {3}> {s = Concat<axis = 0>(t, u) a, b = Split(x, s)}",
    "computed": "<int64[2] t = {0, 2}, int64[2] u = {1, 1}> {s = Add(t, u) a, b = Split(x, s)}",
}


@pytest.mark.parametrize("body", CONSTANTS.values(), ids=CONSTANTS)
def test_constant_sizes_of_every_kind_become_the_attribute(body: str) -> None:
    result = convert_version(helpers.model("g (float[4] x) => (float[A0] a, float[B0] b) " + body, 13), 11).model
    assert attribute(result, "split") == [1, 3]
    assert [node.op_type for node in result.graph.node] == ["Split"], "what only made the sizes is gone"
    assert not result.graph.initializer


def test_shared_sizes_stay_while_something_reads_them() -> None:
    text = "g (float[4] x) => (float[A0] a, float[B0] b, int64[2] t) <int64[2] s = {1, 3}> {a, b = Split(x, s) t = Identity(s)}"
    result = convert_version(helpers.model(text, 13), 11).model
    assert [tensor.name for tensor in result.graph.initializer] == ["s"]


def test_captured_sizes_are_constants() -> None:
    text = """g (bool c, float[4] x) => (float[Y0] y) <int64[2] s = {1, 3}> {
        y = If (c) <then_branch = t () => (float[P0] p) {p, q = Split(x, s)}, else_branch = e () => (float[R0] r) {o, r = Split(x, s)}>
    }"""
    result = helpers.assert_same(helpers.model(text, 13), 11, {"c": np.array(True), "x": np.arange(4, dtype=np.float32)})
    assert not result.graph.initializer


def test_before_ir_4_an_initializer_is_a_constant_though_it_is_an_input() -> None:
    text = "g (float[4] x, int64[2] s = {1, 3}) => (float[A0] a, float[B0] b) {a, b = Split(x, s)}"
    result = convert_version(helpers.model(text, 13, ir_version=3), 11).model
    assert attribute(result, "split") == [1, 3]
    assert [value.name for value in result.graph.input] == ["x", "s"], "the interface stays"


def test_ir_3_gets_no_initializer_that_is_no_input() -> None:
    source = helpers.model("g (float[4] x) => (float[A0] a, float[B0] b) {a, b = Split<split = [1, 3]>(x)}", 11, ir_version=3)
    result = convert_version(source, 13).model
    assert [node.op_type for node in result.graph.node] == ["Constant", "Split"]
    assert not result.graph.initializer


def test_function_body() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[5] x) => (float[A0] a, float[B0] b) {a, b = local.halves(x)}
    <domain: "local", opset_import: ["" : 18]> halves (v) => (p, q) {p, q = Split<num_outputs = 2>(v)}"""
    result = helpers.assert_same(helpers.model(text), 13, {"x": np.arange(5, dtype=np.float32)})
    assert result.functions[0].opset_import[0].version == 13


def test_attribute_set_by_the_caller_of_a_function() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[4] x) => (float[A0] a, float[B0] b) {a, b = local.parts<n = 2>(x)}
    <domain: "local", opset_import: ["" : 18]> parts <n> (v) => (p, q) {p, q = Split<num_outputs: int = @n>(v)}"""
    helpers.assert_same(helpers.model(text), 13, {"x": np.arange(4, dtype=np.float32)})


def attribute(result: onnx.ModelProto, name: str) -> list[int]:
    (node,) = (node for node in result.graph.node if node.op_type == "Split")
    return list(next(attribute for attribute in node.attribute if attribute.name == name).ints)


def test_an_impossible_split_in_a_branch_that_may_never_run_is_no_error_of_the_model() -> None:
    text = """g (bool c, float[5] x) => (float[P] y) {y = If (c) <
        then_branch = t () => (float[Q] p) {[never] p, q, r, s = Split<num_outputs = 4>(x)},
        else_branch = e () => (float[R] z) {z = Identity(x)}>}"""
    source = helpers.model(text, 20)
    x = np.arange(5, dtype=np.float32)
    helpers.assert_same(source, 21, {"c": np.array(False), "x": x})
    assert "Split 'never' (If 'y' then_branch) 18→17: a dimension of 5 cannot make 4 parts" in helpers.refusal(source, 17)


def test_a_type_that_nobody_knows_is_asked_of_each_node_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a Split leads back to it: walks without a memory take a time exponential in their length."""
    asked = itertools.count(1)
    tied_values = schema_types.tied_values

    def counted(node: onnx.NodeProto, opset: int) -> list[list[str]]:
        assert next(asked) <= 10 * len(source.graph.node)
        return tied_values(node, opset)

    monkeypatch.setattr(schema_types, "tied_values", counted)
    parts = ", ".join(f"y{i}" for i in range(8))
    source = onnx.parser.parse_model(f"""<ir_version: 3, opset_import: ["" : 4, "own" : 1]>
        g (float[8] x) => (float[N] y) {{u = own.Op(x) {parts} = Split<axis = 0>(u) s = Add(y1, y2) y = own.Op(s)}}""")
    assert "the type of 'u' is unknown" in helpers.refusal(source, 1)


def test_the_type_of_what_a_branch_reads_is_asked_of_the_outer_graph() -> None:
    """Inference knows nothing of a Reshape below opset 5."""
    text = """g (bool c, float[4] x) => (float[P] y) {v = Reshape<shape = [4]>(x) y = If (c) <
        then_branch = t () => (float[Q] p) {p, q = Split<axis = 0>(v)},
        else_branch = e () => (float[R] z) {z = Identity(x)}>}"""
    result = convert_version(helpers.model(text, 4), 1, compare="off").model
    onnx.checker.check_model(result)
    assert result.opset_import[0].version == 1


REWRITES = [
    (
        "split.sizes_from_float_input",
        1,
        2,
        "g (float[4] x) => (float[1] a, float[3] b) <float[2] s = {1, 3}> { a, b = Split <axis = 0> (x, s) }",
        "{ a, b = Split <axis = 0, split = [1, 3]> (x) }",
    ),
    (
        "split.write_out_axis",
        2,
        1,
        "g (float[4] x) => (float[1] a, float[3] b) { a, b = Split <split = [1, 3]> (x) }",
        "{ a, b = Split <axis = 0, split = [1, 3]> (x) }",
    ),
    (
        "split.axis_from_the_front",
        11,
        10,
        "g (float[2,4] x) => (float[2,1] a, float[2,3] b) { a, b = Split <axis = -1, split = [1, 3]> (x) }",
        "{ a, b = Split <axis = 1, split = [1, 3]> (x) }",
    ),
    (
        "split.sizes_to_attribute",
        13,
        12,
        "g (float[4] x) => (float[1] a, float[3] b) <int64[2] s = {1, 3}> { a, b = Split (x, s) }",
        "{ a, b = Split <split = [1, 3]> (x) }",
    ),
    (
        "split.sizes_to_attribute",
        13,
        12,
        "g (float[4] x, int64[2] s) => (float[A] a, float[B] b) { a, b = Split (x, s) }",
        "<int64[1] v1 = {0}, int64[1] v2 = {1}, int64[1] end = {9223372036854775807}> { v3 = Slice (s, v1, v2, v1) a = Slice (x, v1, v3, v1) b = Slice (x, v3, end, v1) }",
    ),
    (
        "split.sizes_to_input",
        12,
        13,
        "g (float[4] x) => (float[1] a, float[3] b) { a, b = Split <split = [1, 3]> (x) }",
        "<int64[2] v1 = {1, 3}> { a, b = Split (x, v1) }",
    ),
    (
        "split.count_equal_parts",
        17,
        18,
        "g (float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }",
        "{ a, b = Split <num_outputs = 2> (x) }",
    ),
    (
        "split.spell_out_parts",
        18,
        17,
        "g (float[4] x) => (float[2] a, float[2] b) { a, b = Split <num_outputs = 2> (x) }",
        "{ a, b = Split (x) }",
    ),
    (
        "split.spell_out_parts",
        18,
        17,
        "g (float[4] x) => (float[2] a, float[2] b, float[1] c) { a, b = Split <num_outputs = 2> (x) c, d, e, f = Split <num_outputs = 4> (x) }",
        "<int64[2] v1 = {2, 2}> { a, b = Split (x, v1) c, v2, v3, v4 = Split (x) }",
    ),
    (
        "split.spell_out_parts",
        18,
        17,
        "g (float[4] x) => (float[2] a, float[2] c) { a, b = Split <num_outputs = 2> (x) c, d = Split <num_outputs = 2> (x) }",
        "{ a, v1 = Split (x) c, v2 = Split (x) }",
    ),
    (
        "split.spell_out_parts",
        18,
        17,
        "g (float[5] x) => (float[3] a, float[2] b) { a, b = Split <num_outputs = 2> (x) }",
        "<int64[2] v1 = {3, 2}> { a, b = Split (x, v1) }",
    ),
    (
        "split.spell_out_parts",
        18,
        17,
        "g (float[N] x) => (float[A] a, float[B] b) { a, b = Split <num_outputs = 2> (x) }",
        "<int64[1] v4 = {1}, int64[1] v6 = {2}> { v3 = Shape <end = 1, start = 0> (x) v5 = Add (v3, v4) v7 = Div (v5, v6) v8 = Sub (v3, v7) v9 = Concat <axis = 0> (v7, v8) a, b = Split (x, v9) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize(
    "copies", ["x0 = Identity (x) x1 = Identity (x0) x2 = Identity (x)", "x0 = Abs (x) x1 = Abs (x) x2 = Abs (x)"]
)
@pytest.mark.parametrize("target", [17, 13, 12, 9])
def test_two_splits_of_the_same_data_stay_two_in_onnxruntime(target: int, copies: str) -> None:
    """Its optimizer, which is on by default, takes nodes with the same inputs and attributes for one."""
    text = f"""g (float[2,12] x) => (float[2,6] a, float[2,4] b, float[2,3] c) {{ {copies}
        a0, a1 = Split <num_outputs = 2, axis = 1> (x0) b0, b1, b2 = Split <num_outputs = 3, axis = 1> (x1)
        c0, c1, c2, c3 = Split <num_outputs = 4, axis = -1> (x2) a = Add (a0, a1) b = Add (b0, b1) c = Add (c0, c1) }}"""
    feeds = {"x": np.arange(24, dtype=np.float32).reshape(2, 12)}
    found = helpers.run(convert_version(helpers.model(text, 18), target).model, feeds, OPTIMIZED)
    for count, total in zip((2, 3, 4), found, strict=True):
        parts = np.split(feeds["x"], count, axis=1)
        assert np.array_equal(total, parts[0] + parts[1])


def test_sizes_that_are_computed_go_down_to_opset_7() -> None:
    text = "g (float[7] x, int64[2] s) => (float[I] a, float[J] b) { a, b = Split (x, s) }"
    x = np.arange(7, dtype=np.float32)
    for got, want in zip(
        helpers.run(convert_version(helpers.model(text, 13), 7).model, {"x": x, "s": np.array([3, 4])}), (x[:3], x[3:]), strict=True
    ):
        np.testing.assert_array_equal(got, want)


def test_at_opset_9_parts_are_counted_out() -> None:
    """One Shape, sizes once, and four nodes a part at most: the sizes of a Split need no clamping."""
    text = "g (float[B,N] x) => (float[B,I] a, float[B,J] b, float[B,K] c) { a, b, c = Split <axis = 1, num_outputs = 3> (x) }"
    result = convert_version(helpers.model(text, 18), 9).model
    assert len(result.graph.node) <= 20
    x = np.arange(14, dtype=np.float32).reshape(2, 7)
    for got, want in zip(helpers.run(result, {"x": x}), (x[:, :3], x[:, 3:6], x[:, 6:]), strict=True):
        np.testing.assert_array_equal(got, want)
