"""Comparison node by node: what it must find, what it must not claim, and that it needs no weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest
from helpers import command_line, convert_version, known, model
from onnx import helper, numpy_helper

from split_rewrite import rewriter
from split_rewrite.rewriter import Tolerance
from split_rewrite.rewriter.comparison import verification
from split_rewrite.rewriter.comparison.by_region import compare_nodes
from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.comparison.regions import changed_nodes
from split_rewrite.rewriter.comparison.settings import Settings
from split_rewrite.rewriter.comparison.verdicts import Comparison
from split_rewrite.rewriter.engine import conversion
from split_rewrite.rewriter.errors import CompareError, InvalidModelError, SplitRewriteError
from split_rewrite.rewriter.opsets import partial
from split_rewrite.rewriter.storage import read
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytest.importorskip("onnxruntime")

MODELS = Path(__file__).resolve().parents[3] / "models"


def compared(
    original: onnx.ModelProto,
    result: onnx.ModelProto,
    aliases: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    runtime: str = "auto",
) -> Comparison:
    before = Original(Skeleton.of(original))
    return compare_nodes(before, Skeleton.of(result), aliases or {}, Settings(runtime=runtime, tolerance=tolerance or Tolerance()))  # type: ignore[arg-type]


def pair(before: str, after: str, opsets: tuple[int, int] = (18, 18), **more: object) -> Comparison:
    return compared(model(before, opsets[0]), model(after, opsets[1]), **more)  # type: ignore[arg-type]


# --- wrong results ----------------------------------------------------------------------------------------------------

WRONG = {
    "another operator": (
        "g (float[n] x) => (float[n] y) { y = Relu(x) }",
        "g (float[n] x) => (float[n] y) { y = Abs(x) }",
        "Relu 'y' (main graph), Relu → Abs: output 'y' differs",
    ),
    "an attribute, in the second of two equal nodes": (
        "g (float[n] x) => (float[n] z) { y = LeakyRelu<alpha=0.5>(x) z = LeakyRelu<alpha=0.5>(y) }",
        "g (float[n] x) => (float[n] z) { y = LeakyRelu<alpha=0.5>(x) z = LeakyRelu<alpha=0.25>(y) }",
        "LeakyRelu 'z'",
    ),
    "inputs exchanged": (
        "g (float[n] x, float[n] w) => (float[n] y) { y = Sub(x, w) }",
        "g (float[n] x, float[n] w) => (float[n] y) { y = Sub(w, x) }",
        "Sub 'y'",
    ),
    "outputs exchanged": (
        "g (float[4] x) => (float[2] a, float[2] b) { a, b = Split<num_outputs=2>(x) }",
        "g (float[4] x) => (float[2] a, float[2] b) { b, a = Split<num_outputs=2>(x) }",
        "Split 'a'",
    ),
    "one ulp": (
        "g (float[n] x) => (float[n] y) <float one = {1.0}> { y = Mul(x, one) }",
        "g (float[n] x) => (float[n] y) <float two = {1.00000011920929}> { y = Mul(x, two) }",
        "Mul 'y'",
    ),
    "sizes that differ in a stored constant": (
        "g (float[n,8] x) => (float[n,2] a, float[n,6] b) <int64[2] s = {2, 6}> { a, b = Split<axis=1>(x, s) }",
        "g (float[n,8] x) => (float[n,2] a, float[n,6] b) <int64[2] t = {3, 5}> { a, b = Split<axis=1>(x, t) }",
        "Split 'a'",
    ),
    "a stored constant that has another value under the same name": (
        "g (float[n] x) => (float[n] y) <float c = {1.0}> { y = Mul(x, c) }",
        "g (float[n] x) => (float[n] y) <float c = {2.0}> { y = Mul(x, c) }",
        "the stored tensor 'c' is another one in the result",
    ),
    "right at one size of a symbolic dimension only": (
        "g (float[n] x) => (float[m] y) { s = Shape(x) y = Expand(x, s) }",
        "g (float[n] x) => (float[m] y) <int64[1] t = {3}> { y = Expand(x, t) }",
        "Expand 'y'",
    ),
    "a node in a branch": (
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = t () => (float[n] a) { a = Neg(x) },"
        " else_branch = e () => (float[n] b) { b = Relu(x) }> }",
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = t () => (float[n] a) { a = Neg(x) },"
        " else_branch = e () => (float[n] b) { b = Abs(x) }> }",
        "Relu 'b' (If 'y' else_branch)",
    ),
    "branches exchanged": (
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = t () => (float[n] a) { a = Neg(x) },"
        " else_branch = e () => (float[n] b) { b = Relu(x) }> }",
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = e () => (float[n] b) { b = Relu(x) },"
        " else_branch = t () => (float[n] a) { a = Neg(x) }> }",
        "If 'y'",
    ),
    "the wrong output of a branch": (
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = t () => (float[n] a) { a = Neg(x) k = Abs(x) },"
        " else_branch = e () => (float[n] b) { b = Relu(x) }> }",
        "g (bool c, float[n] x) => (float[n] y) { y = If(c) <then_branch = t () => (float[n] k) { a = Neg(x) k = Abs(x) },"
        " else_branch = e () => (float[n] b) { b = Relu(x) }> }",
        "If 'y'",
    ),
    "an input that the old node did not read": (
        "g (float[n] x, float[n] w) => (float[n] y) { y = Neg(x) }",
        "g (float[n] x, float[n] w) => (float[n] y) { y = Neg(w) }",
        "Neg 'y'",
    ),
    "the wrong position, which is known at run time": (
        "g (float[6] x, int64 i) => (float[k] y) <int64 s = {1}> { q = SplitToSequence(x, s) y = SequenceAt(q, i) }",
        "g (float[6] x, int64 i) => (float[k] y) <int64[1] one = {1}> { j = Mul(i, i) p = Reshape(j, s) y = Gather(x, p) }",
        "SequenceAt 'y'",
    ),
    "the wrong element of a sequence": (
        "g (float[n,4] x) => (float[n,k] y) <int64 one = {1}, int64[2] s = {1, 3}>"
        " { q = SplitToSequence<axis=1>(x, s) a = SequenceAt(q, one) y = Neg(a) }",
        "g (float[n,4] x) => (float[n,k] y) <int64[2] s = {1, 3}> { p, a = Split<axis=1>(x, s) y = Neg(p) }",
        "Neg",
    ),
}


@pytest.mark.parametrize(("before", "after", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_result_is_never_called_equal(before: str, after: str, reason: str) -> None:
    found = pair(before, after)
    assert found.status == "different"
    assert reason in found.reason
    assert "\n" not in found.reason


def test_node_that_means_something_else_at_the_target_is_found_although_nobody_touched_it() -> None:
    """Softmax flattened until 12; only its definition differs."""
    text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis=1>(x) }"
    found = pair(text, text, (12, 13))
    assert found.status == "different"
    assert "Softmax 'y' (main graph), Softmax: output 'y' differs" in found.reason


def test_alias_to_the_wrong_value() -> None:
    before = "g (float[n] x) => (float[n] y) { a = Identity(x) b = Neg(x) y = Relu(a) }"
    after = "g (float[n] x) => (float[n] y) { b = Neg(x) y = Relu(%s) }"
    assert pair(before, after % "x", aliases={"a": "x"}).status == "equal"
    assert pair(before, after % "b", aliases={"a": "b"}).status == "different"


def test_other_graph_outputs() -> None:
    before = "g (float[n] x) => (float[n] y, float[n] z) { y = Neg(x) z = Abs(x) }"
    after = "g (float[n] x) => (float[n] z, float[n] y) { y = Neg(x) z = Abs(x) }"
    assert pair(before, after).reason == "the result has other inputs or outputs than the original"


def test_wrong_result_behind_weights_is_found_with_the_weights_themselves() -> None:
    """A rewrite may have computed with a weight: random ones in its place differ, and say nothing."""
    weights = np.arange(600, dtype=np.float32).reshape(200, 3)

    def with_parts(shift: float) -> onnx.ModelProto:
        result = model("g (float[n,3] x) => (float[n,3] y) { h = Identity(p) k = Identity(q) y = Add(x, k) }")
        for name, part in (("p", weights[:100]), ("q", weights[100:101] + np.float32(shift))):
            result.graph.initializer.append(numpy_helper.from_array(part, name))
        return result

    before = model(
        "g (float[n,3] x) => (float[n,3] y) <int64[3] s = {100, 1, 99}>"
        " { h0, k0, r = Split<axis=0>(w, s) h = Identity(h0) k = Identity(k0) y = Add(x, k) }"
    )
    before.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    aliases = {"h0": "p", "k0": "q"}
    assert compared(before, with_parts(0), aliases).status == "equal"
    assert compared(before, with_parts(1), aliases).status == "different"


# --- what is not claimed ----------------------------------------------------------------------------------------------

UNJUDGED = {
    "random numbers": (
        "g (float[n] x) => (float[n] y, float[n] z) { y = RandomNormalLike<seed=1.0>(x) z = Neg(x) }",
        "g (float[n] x) => (float[n] y, float[n] z) { y = RandomNormalLike<seed=2.0>(x) z = Relu(x) w = Neg(x) }",
        "draws random numbers",
    ),
    "an operator of another domain": (
        "g (float[n] x) => (float[n] y) { y = own.Thing<a=1>(x) }",
        "g (float[n] x) => (float[n] y) { y = own.Thing<a=2>(x) }",
        "own:Thing",
    ),
    "a type that is nowhere said": (
        "g (float[n] x) => (float[n] z) { y = own.Thing(x) a = Neg(y) z = own.Thing(a) }",
        "g (float[n] x) => (float[n] z) { y = own.Thing(x) b = Abs(y) a = Neg(b) z = own.Thing(a) }",
        "the type of 'y' is unknown",
    ),
    "a value that the old node did not depend on, of which nothing is known": (
        "g (float[n] x) => (float[n] y) { w = own.Thing(x) y = Neg(x) }",
        "g (float[n] x) => (float[n] y) { w = own.Thing(x) y = Neg(w) }",
        "the type of 'w' is unknown",
    ),
    "a value that the old node did not depend on, although it might equal what it did": (
        "g (float[n] x) => (float[n] y, float[n] w) { w = own.Thing(x) y = Neg(x) }",
        "g (float[n] x) => (float[n] y, float[n] w) { w = own.Thing(x) y = Neg(w) }",
        "what replaces it reads 'w', which it did not depend on",
    ),
}
OWN = '<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n'


@pytest.mark.parametrize(("before", "after", "reason"), UNJUDGED.values(), ids=UNJUDGED)
def test_not_compared_is_said_with_the_reason(before: str, after: str, reason: str) -> None:
    found = pair(OWN + before, OWN + after)
    assert reason in "; ".join(piece.reason for piece in found.pieces)
    assert found.status in ("not compared", "different")
    assert any(piece.status == "not compared" for piece in found.pieces)


def test_a_difference_proves_nothing_where_a_rank_is_unknown_that_a_rule_may_have_known() -> None:
    """The axes -1 and 0 are the same for a vector."""
    body = "g (float[2] x, int64[N] n) => (float[] y) { r = Reshape(x, n) z = RandomNormalLike(r) y = NODE(z) }"
    node, same, other = "Softmax<axis = -1>", "Softmax<axis = 0>", "LogSoftmax<axis = -1>"
    found = pair(body.replace("NODE", node), body.replace("NODE", same))
    assert found.status == "not compared"
    assert "the rank of an input is unknown, and they are equal only for some" in found.reason
    assert pair(body.replace("NODE", node), body.replace("NODE", other)).status == "different"


def test_what_arbitrary_inputs_show_does_not_count_where_those_of_the_model_agree() -> None:
    """A Slice from the length of an axis on is empty for every input, and its region alone runs on other starts."""
    text = """g (float[2,N] x) => (float[2,M] y) <int64[1] one = {1}, int64[1] end = {9223372036854775807}, int64 i = {1}, int64[1] z = {0}>
        { l = Shape(x) s0 = Gather(l, i) s = Unsqueeze(s0, z) y = Slice(x, s, end, one) }"""
    proto = model(text, 13)
    found = compared(proto, convert_version(proto, 9).model)
    assert found.status == "partly compared" and "output 'y' is empty on all inputs tried" in found.reason


def test_partly_compared_says_what_was_not() -> None:
    before = "g (float[n] x) => (float[n] y, float[n] z) { y = own.Thing<a=1>(x) z = HardSwish(x) }"
    after = "g (float[n] x) => (float[n] y, float[n] z) { y = own.Thing<a=2>(x) z = HardSwish(x) }"
    header = '<ir_version: 8, opset_import: ["" : %d, "own" : 1]>\n'
    found = pair(header % 18 + before, header % 22 + after)
    assert found.status == "partly compared"
    assert found.reason.startswith("1 of 2 distinct changes could not be compared: 1 × Thing → Thing (")
    assert [piece.status for piece in found.pieces] == ["not compared", "equal"]


@pytest.mark.parametrize("how", ["auto", "nodes"])
def test_a_warning_of_a_result_that_runs_in_another_runtime_alone(how: Literal["auto", "nodes"]) -> None:
    """onnxruntime has Max of opset 7 for float alone, and the rule computes in double."""
    report = convert_version(model("g (int32[n] x, int32[n] w) => (int32[n] y) { y = Max(x, w) }", 13), 7, compare=how).report
    assert report.comparison is not None and (report.comparison.status, report.comparison.refused) == ("equal", True)
    (warning,) = report.warnings
    assert warning.startswith("only another runtime could confirm the result: ")
    assert "onnxruntime runs the original but not the result: Could not find an implementation for Max(6)" in warning


def test_required_refuses_what_is_only_partly_compared() -> None:
    text = "g (float[n] x) => (float[n] y, float[n] z) { y = own.Thing(x) a, b = Split<num_outputs=2>(x) z = Concat<axis=0>(a, b) }"
    original = model('<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n' + text.replace("float[n]", "float[6]"))
    result = convert_version(original, 17, compare="auto").report
    assert result.comparison is not None and result.comparison.status == "equal"
    assert result.comparison.reason.startswith("the whole models could not be compared: ")
    with pytest.raises(SplitRewriteError, match=r"^compare nodes: given inputs"):
        convert_version(original, 17, compare="nodes", options=_named_tolerance())


def _named_tolerance():
    from split_rewrite.rewriter import Options

    return Options(tolerance=Tolerance(rtol_of={"y": 1.0}))


# --- right results ----------------------------------------------------------------------------------------------------

RIGHT = {
    "sizes move into an attribute": (
        13,
        "g (float[n,8] x) => (float[n,2] a, float[n,6] b) <int64[2] s = {2, 6}> { a, b = Split<axis=1>(x, s) }",
        11,
    ),
    "a sequence dissolves, one element used twice": (
        18,
        "g (float[n,4] x) => (float[n,2] y) <int64 o = {0}, int64 l = {1}, int64[2] s = {2, 2}>"
        " { q = SplitToSequence<axis=1>(x, s) a = SequenceAt(q, o) b = SequenceAt(q, l) c = Mul(a, b) y = Add(c, a) }",
        17,
    ),
    "a sequence dissolves although something else reads it": (
        18,
        "g (float[n,4] x) => (float[n,2] y, seq(float[n,2]) q) <int64 o = {0}, int64[2] s = {2, 2}>"
        " { q = SplitToSequence<axis=1>(x, s) a = SequenceAt(q, o) y = Neg(a) }",
        17,
    ),
    "an element is read in a branch": (
        18,
        "g (bool c, float[n,4] x) => (float[n,2] y) <int64 o = {0}, int64[2] s = {2, 2}>"
        " { q = SplitToSequence<axis=1>(x, s) y = If(c) <"
        "then_branch = t () => (float[n,2] a) { a0 = SequenceAt(q, o) a = Neg(a0) },"
        "else_branch = e () => (float[n,2] b) { b0 = SequenceAt(q, o) b = Abs(b0) }> }",
        17,
    ),
    "a part that nobody reads": (
        8,
        "g (float[6] x) => (float[2] y) <float[4] c = {1, 2, 3, 4}> { l, r = Split(c) y, t = Split<split=[2, 4]>(x) }",
        13,
    ),
    "an operator becomes many": (17, "g (float[n,8] x, float[8] s) => (float[n,8] y) { y = LayerNormalization(x, s) }", 13),
    "a body of a loop": (
        18,
        "g (float[4] x) => (float[4] y) <int64 n = {3}, bool t = {1}> { y = Loop(n, t, x) <body = b"
        " (int64 i, bool c, float[4] v) => (bool d, float[4] w) { d = Identity(c)"
        " l, r = Split<num_outputs=2>(v) w = Concat<axis=0>(r, l) }> }",
        13,
    ),
}


@pytest.mark.parametrize(("opset", "text", "target"), RIGHT.values(), ids=RIGHT)
def test_conversion_is_equal_and_every_piece_was_run(opset: int, text: str, target: int) -> None:
    comparison = convert_version(model(text, opset), target, compare="nodes").report.comparison
    assert comparison is not None
    assert comparison.status == "equal", comparison.reason
    assert comparison.pieces and all(piece.status == "equal" for piece in comparison.pieces)
    assert comparison.runtime


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_real_models_are_equal_node_by_node(path: Path) -> None:
    opset = onnx.load(path, load_external_data=False).opset_import[0].version
    for target in (13, 18):
        if target != opset:
            comparison = convert_version(path, target, compare="nodes").report.comparison
            assert comparison is not None and comparison.status == "equal", comparison


def test_nothing_changed() -> None:
    text = "g (float[n] x) => (float[n] y) { y = Relu(x) }"
    found = pair(text, text, (14, 15))
    assert (found.status, found.pieces) == ("equal", ())


def test_equal_rewrites_are_run_once() -> None:
    count = 300
    nodes = []
    for i in range(count):
        nodes += [
            helper.make_node("Split", [f"x{i}", "s"], [f"a{i}", f"b{i}"], axis=1),
            helper.make_node("Concat", [f"b{i}", f"a{i}"], [f"x{i + 1}"], axis=1),
        ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x0", 1, ["n", 8])], [value(f"x{count}", 1, ["n", 8])])
    graph.initializer.append(numpy_helper.from_array(np.array([4, 4]), "s"))
    original = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    comparison = convert_version(original, 11, compare="nodes").report.comparison
    assert comparison is not None and comparison.status == "equal"
    assert [(piece.change, piece.count) for piece in comparison.pieces] == [("Split → Split", count), ("Concat", count)]


def test_different_constants_shapes_and_types_are_not_alike() -> None:
    text = """g (float[n,8] x, float[n,8] w, double[n,8] d) => (float[n,p] a, float[n,q] e, double[n,p] f)
      <int64[2] s = {2, 6}, int64[2] t = {3, 5}>
      { a, b = Split<axis=1>(x, s) e, c = Split<axis=1>(w, t) f, h = Split<axis=1>(d, s) }"""
    comparison = convert_version(model(text, 13), 12, compare="nodes").report.comparison
    assert comparison is not None and comparison.status == "equal"
    assert [piece.count for piece in comparison.pieces] == [1, 1, 1]


def test_tolerance_is_for_what_was_rewritten_alone() -> None:
    before = "g (float[n] x) => (float[n] y) <float one = {1.0}> { y = Mul(x, one) }"
    after = "g (float[n] x) => (float[n] y) <float two = {1.00000011920929}> { y = Mul(x, two) }"
    assert pair(before, after, tolerance=Tolerance(inexact=True)).status == "equal"
    assert pair(before, after, tolerance=Tolerance(rtol=2e-7)).status == "equal"
    assert pair(before, after).status == "different"


def test_last_bits_by_a_node_that_left_its_branch_are_the_runtime_s() -> None:
    """onnxruntime computes a HardSwish of float16 from its definition, inside a branch with other roundings than outside."""
    before = """g (float16[2,2] x) => (float16[a,b] y) <bool c = {1}> { v = Clip(x) y = If(c) <
        then_branch = t () => (float16[a,b] p) { p = HardSwish(v) }, else_branch = e () => (float16[a,b] q) { q = Relu(v) }> }"""
    after = "g (float16[2,2] x) => (float16[a,b] y) { v = Clip(x) y = HardSwish(v) }"
    assert pair(before, after).status == "equal"
    assert pair(before, after.replace("HardSwish(v)", "HardSigmoid(v)")).status == "different"
    wrong = after.replace("y = HardSwish(v)", "w = HardSigmoid<alpha = 0.168, beta = 0.5>(v) y = Mul(v, w)")
    assert pair(before, wrong).status == "different"
    for opset in known(24):
        result = convert_version(model(before.replace("Relu", "Swish"), opset), 18, compare="auto")
        assert result.report.comparison is not None and result.report.comparison.status == "equal"


def test_a_difference_behind_a_sequence_that_a_subgraph_makes_is_no_proof() -> None:
    text = """g (float[n] z) => (seq(float[a,b]) s, float[c,d] y, float[n] w) { x = Constant<value = float[1,3] {1, -2, 3}>() w = Relu(z)
        t = SequenceConstruct(x) s = SequenceMap(t) <body = b (float[e,f] i) => (float[e,f] o) { o = Relu(i) }>
        y = ConcatFromSequence<axis=0>(s) }"""
    result = convert_version(model(text, 21), 16).model
    assert "ConcatFromSequence" not in {node.op_type for node in result.graph.node}
    found = compared(model(text, 21), result)
    assert found.status == "partly compared"
    assert "what makes the sequence 's' has a subgraph" in found.reason


def test_long_chain_that_might_be_a_constant() -> None:
    chain = " ".join(f"h{i + 1} = Add(h{i}, h{i})" for i in range(3000))
    text = f"g (float[n,8] x, int64[2] h0) => (float[k,m] y) {{ {chain} y = Reshape(x, h3000) }}"
    assert pair(text, text, (18, 19)).status in ("equal", "not compared")


# --- weights ----------------------------------------------------------------------------------------------------------


def _big(path: Path, columns: int = 1 << 12) -> Path:
    """A model whose weights are cut from the file: a MatMul and a Split behind it."""
    weights = np.random.default_rng(0).standard_normal((columns, 1 << 12)).astype(np.float32)
    text = f"g (float[n,{columns}] x) => (float[n,2048] a, float[n,2048] b) {{ h = MatMul(x, w) a, b = Split<axis=1>(h) }}"
    original = model(text, 11)
    original.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(original, path)
    return path


@pytest.mark.parametrize(
    ("factor", "status"), [pytest.param(0.5, "partly compared", id="right"), pytest.param(0.75, "different", id="wrong")]
)
def test_what_a_branch_that_became_a_constant_is_folded_into(factor: float, status: str) -> None:
    """The original computes it in an If, and the result has folded it."""
    before = """g (float[2] x) => (float[2] y, float[2] z) <float h = {0.5}> { off = Constant<value = bool {0}>()
        w = If(off) <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Constant<value = float[2] {1, 2}>() }>
        half = Mul(w, h) y = Add(half, w) z = Neg(x) }"""
    after = f"""g (float[2] x) => (float[2] y, float[2] z) <float[2] folded = {{{factor}, {2 * factor}}}> {{
        w = Constant<value = float[2] {{1, 2}}>() y = Add(folded, w) z = Neg(x) }}"""
    assert pair(before, after).status == status


def test_weights_stay_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MatMul has another definition at 13, and its 64 MiB of weights are not needed to run it."""
    path = _big(tmp_path / "big.onnx")
    before = Original(read(path))
    assert before.skeleton.proto.ByteSize() < 10_000
    result = read(path)
    result.proto.opset_import[0].version = 13
    read_tensors: list[str] = []
    monkeypatch.setattr(Skeleton, "array", lambda self, tensor: read_tensors.append(tensor.name))
    found = compare_nodes(before, result, {})
    assert found.status == "equal", found
    assert {piece.change for piece in found.pieces} == {"MatMul", "Split"}
    assert read_tensors == []


def test_wrong_conversion_raises_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from split_rewrite.rewriter import convert_file

    def swap(self: conversion.Engine) -> conversion.Outcome:
        outcome = run(self)
        node = self._model.proto.graph.node[0]
        node.output[:] = [node.output[1], node.output[0]]
        return outcome

    run = conversion.Engine.run
    monkeypatch.setattr(conversion.Engine, "run", swap)
    source, destination = tmp_path / "in.onnx", tmp_path / "out.onnx"
    onnx.save(model("g (float[n,4] x) => (float[n,2] a, float[n,2] b) { a, b = Split<axis=1>(x) }", 11), source)
    with pytest.raises(CompareError, match=r"Split 'a' \(main graph\), Split → Split: output 'a' differs"):
        convert_file(source, destination, 13, compare="nodes")
    assert not destination.exists()


def test_a_name_that_is_not_utf8_cannot_be_compared_node_by_node() -> None:
    proto = model("g (float[2] x) => (float[2] y) {tttt = Split(x)\n y = Relu(tttt)}", 11)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"tttt", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(InvalidModelError, match="UTF-8"):
        convert_version(damaged, 13, compare="nodes")


@pytest.mark.parametrize("maker", ["h = Relu (x)", "s = Shape (x)\n h = Reshape (x, s)", "h = other.Unknown (x)"])
def test_a_stale_size_is_not_the_only_one_tried(maker: str) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "other" : 1]>
    g (float[N,4] x) => (float[A,4] y) <float[1,4] h> { MAKER y = LAST }"""
    before = model(text.replace("MAKER", maker + "\n").replace("LAST", "Softmax <axis = 0> (h)"))
    after = model(text.replace("MAKER", maker + "\n").replace("LAST", "Div (h, h)"))
    found = compared(before, after)
    assert found.status == "different" and "Softmax" in found.reason
    right_for_one = model(text.replace("MAKER", maker + "\n").replace("LAST", "Softmax <axis = 1> (h)"))
    assert compared(before, right_for_one).status == "different"


def test_sizes_that_rules_found_by_folding_are_those_that_are_tried() -> None:
    text = """g (float[N] x) => (float[A,B] y) <int64[1] four = {4}, int64[1] once = {1}, int64[2] rest = {-1, 1}> {
        rows = Tile (four, once)
        sizes = Concat <axis = 0> (rest, rows)
        h = Reshape (x, sizes)
        s = SplitToSequence <keepdims = 0> (h)
        y = ConcatFromSequence <axis = 0> (s)
    }"""
    result = convert_version(model(text, 13), 13).model
    assert not any("Sequence" in node.op_type for node in result.graph.node)
    assert compared(model(text, 13), result).status == "equal"


SIZES = """g (float[N,6] x) => (float[A,B] p, float[C,D] q) <int64[1] one = {1}, int64[1] two = {2}> {
    r = Relu (x) s = Shape (r) w = Gather (s, one) h = Div (w, two) sizes = Concat <axis = 0> (h, h) p, q = Split <axis = 1> (x, sizes) }"""


@pytest.mark.parametrize(("sizes", "status"), [("3, 3", "equal"), ("2, 4", "different")])
def test_sizes_that_the_result_has_folded_are_computed_by_the_original(sizes: str, status: str) -> None:
    after = f"g (float[N,6] x) => (float[A,B] p, float[C,D] q) <int64[2] k = {{{sizes}}}> {{ p, q = Split <axis = 1> (x, k) }}"
    assert pair(SIZES, after, (13, 13)).status == status


@pytest.mark.parametrize(("axis", "status"), [(1, "equal"), (0, "different")])
def test_axes_that_both_compute_are_those_of_the_runs(axis: int, status: str) -> None:
    before = """g (float[N,4] x) => (float[A,B] y, int64[1] z) <int64[1] k = {2}> {
        r = Relu (x) s = Shape (r) t = Shape (s) one = Sub (k, t) two = Add (one, t) three = Sub (two, one) axis = Sub (three, k)
        a = Add (axis, k) b = Div (a, k) c = Mul (b, b) y = ReduceSum (x, c) z = Identity (c) }"""
    after = before.replace("ReduceSum (x, c)", f"ReduceSum <axes = [{axis}]> (x)")
    assert pair(before, after, (13, 11)).status == status


FIRST = """g (float[N,4] x, int64[2] s, int64[1] d) => (float[A,B] y) <int64[1] one = {1}, int64 nil = {0}, int64 two = {2}> {
    t = Mul (s, s) r = Concat <axis = 0> (one, t) i = Mul (d, nil) j = INDEX f = Gather (r, j) z = Identity (f)
    k = Cast <to = 1> (LAST) y = Mul (x, k) }"""


@pytest.mark.parametrize(
    ("index", "status"),
    [pytest.param("Identity (i)", "not compared", id="always"), pytest.param("Mod (d, two)", "different", id="at-times")],
)
def test_a_difference_for_values_that_no_run_has_is_no_proof(index: str, status: str) -> None:
    """What is gathered is 1 whenever the index is 0; that depends on the inputs, as far as the graph tells."""
    before = FIRST.replace("INDEX", index)
    assert pair(before.replace("LAST", "f"), before.replace("LAST", "one")).status == status


def test_what_one_run_has_is_not_what_all_have() -> None:
    """The place of the largest of three numbers, which the result takes for that of the first input that is tried."""
    text = "g (float[3] x, float[3,2] t) => (float[2] y, int64 i) { i = ArgMax <keepdims = 0> (x) y = Gather (t, i) }"
    statuses = []
    for place in range(3):
        after = text.replace("y = Gather (t, i)", f"k = Constant <value = int64 {{{place}}}> () y = Gather (t, k)")
        statuses.append(pair(text, after).status)
    assert statuses == ["different"] * 3


@pytest.mark.parametrize("gelu", ["none", "tanh"])
def test_last_bits_that_a_cast_rounds_are_judged_node_by_node(gelu: str, tmp_path: Path) -> None:
    text = f"""g (float[64] x) => (int32[64] y) <float k = {{1e6}}> {{
        a = Gelu<approximate = "{gelu}">(x)\n b = Mul(a, k)\n y = Cast<to = 6>(b) }}"""
    onnx.save(model(text, 20), tmp_path / "m.onnx")
    ended = command_line("-v", "-t", "13", f"{tmp_path}/m.onnx", f"{tmp_path}/o.onnx")
    assert (ended.status, "node by node" in ended.out) == (0, True), ended.err
    assert "round inputs that differ in their last bits" in ended.out + ended.err


def test_last_bits_that_a_quantization_rounds_are_judged_node_by_node_where_it_changed_too() -> None:
    text = """g (int8[1,1,8,8] q) => (int8[1,1,4,4] y) <float k = {0.337}, int8 z = {1}, float[4] s = {1.0, 1.0, 0.5, 0.5}> {
        x = DequantizeLinear(q, k, z)\n h = Resize<mode = "linear">(x, , s)\n y = QuantizeLinear(h, k, z) }"""
    comparison = rewriter.convert_version(model(text, 17), 9).report.comparison
    assert comparison is not None and comparison.status == "equal"


def test_a_rule_that_was_misled_by_inference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """For [1,4], the shape that is said to be inferred, the result is right; the original has others there."""
    before = "g (float[N,4] x, int64[2] s) => (float[A,B] y) { r = Relu (x)\n h = Reshape (r, s)\n y = Softmax <axis = 0> (h) }"
    after = "g (float[N,4] x, int64[2] s) => (float[A,B] y) { r = Relu (x)\n h = Reshape (r, s)\n y = Div (h, h) }"
    planted = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [1, 4])
    types_in = changed_nodes._types_in
    monkeypatch.setattr(changed_nodes, "_types_in", lambda graph: {**types_in(graph), "h": planted})
    found = pair(before, after)
    assert found.status == "different" and "Softmax" in found.reason


@pytest.mark.parametrize("options", [{"compare": "nodes"}, {"compare": "auto"}])
def test_a_conversion_by_a_wrong_inference_is_found(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the model has more nodes than are run as a whole."""
    monkeypatch.setattr(verification, "WHOLE", verification.Size(1 << 28, 2))
    monkeypatch.setitem(partial._SHAPES, "reshaped", lambda *_: (5,))
    text = """g (float[N,2] x) => (float[A] p, float[B] q) <int64[1] rest = {-1}> {
        r = Relu (x)
        h = Reshape (r, rest)
        p, q = Split <axis = 0, num_outputs = 2> (h)
    }"""
    with pytest.raises(CompareError, match="Split"):
        convert_version(model(text, 18), 13, **options)


@pytest.mark.parametrize(("between", "status"), [("u = Reshape (t, s)", "different"), ("", "equal")])
def test_what_a_foreign_node_makes_has_the_shape_that_the_model_states(between: str, status: str) -> None:
    """The two agree for tensors of rank 2 only. A Reshape to any shape leaves the rank open."""
    text = f"""<ir_version: 8, opset_import: ["" : 18, "other" : 1]>
    g (float[2,4] x, int64[K] s) => (float y) <float[2,4] t, float[2,4] u> {{ {"t" if between else "u"} = other.Unknown (x)\n {between} y = LAST }}"""
    before = model(text.replace("LAST", "ReduceSum <keepdims = 0> (u)"))
    after = model(text.replace("LAST", 'Einsum <equation = "ab->"> (u)'))
    found = compared(before, after, tolerance=Tolerance(inexact=True, sums=True))
    assert found.status == status


def test_sizes_inside_of_branches_and_loops_are_observed() -> None:
    text = """g (float[N,4] x, bool c, int64 n) => (float[A,B] y) {
        y = If (c) <then_branch = t () => (float[P,Q] a) { r = Relu (x)\n a = LAST (r) }, else_branch = e () => (float[P,Q] b) { b = Neg (x) }>
    }"""
    assert pair(text.replace("LAST", "Softmax <axis = -1>"), text.replace("LAST", "Softmax <axis = 1>")).status == "equal"
    assert pair(text.replace("LAST", "Softmax <axis = -1>"), text.replace("LAST", "Softmax <axis = 0>")).status == "different"


# --- functions whose parameters are values in the result -----------------------------------------------------------------

PARAMETERS = {
    "another value than the default": (
        "y = l.soft <ax = 0> (x)",
        '<domain: "l", opset_import: ["" : 18]> soft <ax: int = 1> (a) => (b) { b = Softmax <axis: int = @ax> (a) }',
        11,
    ),
    "no default, through another function": (
        "y = l.outer <ax = 1> (x)",
        '<domain: "l", opset_import: ["" : 18]> soft <ax> (a) => (b) { b = Softmax <axis: int = @ax> (a) }'
        '<domain: "l", opset_import: ["" : 18, "l" : 1]> outer <ax> (a) => (b) { b = l.soft <ax: int = @ax> (a) }',
        11,
    ),
    "in a branch": (
        "y = l.h <v = 1e30> (x)",
        """<domain: "l", opset_import: ["" : 18]> h <v: float = 2.0> (x) => (y) {
            c = Constant <value_float: float = @v> () m = ReduceMax <keepdims = 0> (x) p = Greater(m, c)
            y = If(p) <then_branch = t () => (z) { z = LogSoftmax <axis = 2> (x) },
                       else_branch = e () => (z) { s = Constant <value_float: float = @v> () z = Mul(x, s) }> }""",
        12,
    ),
}


def with_functions(call: str, functions: str) -> onnx.ModelProto:
    return model(
        f'<ir_version: 8, opset_import: ["" : 18, "l" : 1]> g (float[2,3,4] x) => (float[K,L,M] y) {{ {call} }} {functions}'
    )


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_functions_of_the_result_are_its_own(name: str) -> None:
    call, functions, target = PARAMETERS[name]
    found = rewriter.convert_version(with_functions(call, functions), target, compare="nodes").report.comparison
    assert found is not None and (found.status, len(found.pieces)) == ("equal", 1)


def test_a_wrong_function_of_the_result_is_found() -> None:
    original = with_functions("y = l.soft (x)", PARAMETERS["another value than the default"][1])
    result = convert_version(original, 11).model
    (soft,) = (node for node in result.functions[0].node if node.op_type == "Softmax")
    soft.op_type = "LogSoftmax"
    unit = frozenset({("l", "soft", "")})
    before = Original(Skeleton.of(original))
    found = compare_nodes(before, Skeleton.of(result), {}, units=unit)
    assert found.status == "different"
    assert "soft 'y' (main graph)" in found.reason


@pytest.mark.parametrize("target", [11, 13])
def test_a_list_that_stands_for_another_is_not_copied_where_no_node_can(target: int) -> None:
    """Identity takes lists from opset 14 on."""
    text = (
        "g (seq(float[a,3]) s) => (float[q,3] y, bool h) { o = Optional (s) h = OptionalHasElement (o) t = OptionalGetElement (o) "
        "y = ConcatFromSequence <axis = 0> (t) }"
    )
    comparison = convert_version(model(text, 18), target, compare="auto").report.comparison
    assert comparison is not None
    assert comparison.status in ("not compared", "partly compared")
