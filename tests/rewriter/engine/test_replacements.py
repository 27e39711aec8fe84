"""Rules of users and of other packages for operators of other domains."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from helpers import model, refusal, run

from split_rewrite.rewriter import Options, SplitRewriteError, UnconvertibleError, convert_version
from split_rewrite.rewriter.engine import registry
from split_rewrite.rewriter.engine.registry import replace
from split_rewrite.rewriter.errors import CompareError, Unconvertible
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rules import microsoft

MINE = """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
    agraph (float[2,4] x) => (float[2,4] y) { [n] a = mine.Twice(x) y = Neg(a) }"""
GELU = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[2,4] x) => (float[2,4] y) { y = com.microsoft.Gelu(x) }"""


@replace("mine", "Twice", opset=13)
def twice(node: Node) -> None:
    """x + x."""
    node.become.Add(node.input(0), node.input(0))


@replace("mine", "Twice", opset=13)
def never(node: Node) -> None:
    raise Unconvertible("nobody doubles this", "halve it")


@replace("com.microsoft", "Gelu", opset=13, exact=True)
def wrong(node: Node) -> None:
    node.become.Relu(*node.inputs)


def test_what_is_no_rule_is_refused():
    with pytest.raises(SplitRewriteError, match=r"rules: .*print.* is not a function decorated as a rule, such as with 'replace'"):
        convert_version(model(MINE), 13, options=Options(rules=[print]))


def test_a_name_that_nobody_offers_is_refused():
    with pytest.raises(SplitRewriteError, match="rules: no installed package offers rules as 'nobody'"):
        convert_version(model(MINE), 13, options=Options(rules=["nobody"]))


def test_refusals_of_a_rule_are_blockers():
    with pytest.raises(UnconvertibleError, match=r"Twice 'n' \(main graph\): nobody doubles this. Hint: halve it"):
        convert_version(model(MINE), 13, options=Options(rules=[never]))


def test_a_rule_that_raises_is_named():
    @replace("mine", "Twice", opset=13)
    def broken(node: Node) -> None:
        raise ValueError("oh")

    with pytest.raises(
        SplitRewriteError, match=r"rules: test_replacements.broken failed on Twice 'n' \(main graph\): ValueError: oh"
    ):
        convert_version(model(MINE), 13, options=Options(rules=[broken]))


def test_a_rule_that_is_wrong_does_not_pass_the_comparison():
    with pytest.raises(CompareError):
        convert_version(model(GELU), 13, compare="required", options=Options(rules=[wrong]))


def test_a_rule_of_a_user_is_applied_in_this_conversion_only():
    result = convert_version(model(MINE), 9, options=Options(rules=[twice]))
    assert [(node.domain, node.op_type) for node in result.model.graph.node] == [("", "Add"), ("", "Neg")]
    assert result.report.applied == {"test_replacements.twice": 1}
    assert convert_version(model(MINE), 9).model.graph.node[0].domain == "mine"


def test_what_follows_a_replaced_node_has_a_shape_on_the_way_down():
    proto = model("""<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
        agraph (float[N,4] x) => (float[N,4] y) { a = mine.Twice(x) c = Neg(a) y = Softmax <axis = 0> (c) }""")
    assert "the rank of 'c' is unknown" in refusal(proto, 12)
    result = convert_version(proto, 12, options=Options(rules=[twice]))
    assert result.report.applied["test_replacements.twice"] == 1
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    expected = np.exp(-2 * x) / np.exp(-2 * x).sum(axis=0)
    np.testing.assert_allclose(run(result.model, {"x": x})[0], expected, rtol=1e-5)


def test_nodes_in_subgraphs_and_functions_too():
    proto = model("""<ir_version: 8, opset_import: ["" : 17, "mine" : 1, "f" : 1]>
        agraph (float[2,4] x, bool c) => (float[2,4] y) {
            a = f.four(x)
            y = If(c) <then_branch = t () => (float[2,4] p) { p = mine.Twice(a) }, else_branch = e () => (float[2,4] q) { q = Neg(x) }>
        }
        <opset_import: ["" : 17, "mine" : 1], domain: "f"> four (v) => (w) { b = mine.Twice(v) w = mine.Twice(b) }""")
    result = convert_version(proto, 13, options=Options(rules=[twice]))
    assert result.report.applied == {"test_replacements.twice": 3}
    assert b"Twice" not in result.model.SerializeToString()


def test_a_package_offers_rules_by_name(monkeypatch):
    entry = EntryPoint("com.microsoft", "split_rewrite.rules.microsoft", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group, name: [entry] if (group, name) == (entry.group, entry.name) else [])
    proto = model(GELU)
    result = convert_version(proto, 13, compare="required", options=Options(rules=["com.microsoft"])).model
    assert "Erf" in {node.op_type for node in result.graph.node}
    assert microsoft.gelu.__doc__


# -- ONNX's own operators only

UNHEARD = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1, "com.microsoft" : 1]>
    agraph (float[2,4] x) => (float[2,4] y) { h = com.microsoft.Gelu(x) y = com.example.Unheard(h) }"""


def test_an_operator_without_a_rule_is_refused_with_standard():
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(model(UNHEARD), 13, compare="off", options=Options(standard=True))
    assert "com.example::Unheard is not an ONNX operator, and no rule replaced it" in str(caught.value)
    assert len(caught.value.blockers) == 1


def test_a_rule_of_the_user_is_used_with_standard():
    @replace("com.example", "Unheard", opset=13)
    def negate(node):
        node.become.Neg(node.input(0))

    result = convert_version(model(UNHEARD), 17, compare="off", options=Options(standard=True, rules=[negate])).model
    assert [node.op_type for node in result.graph.node][-1] == "Neg"
    assert [entry.domain for entry in result.opset_import] == [""]


def test_functions_of_the_model_and_operators_of_machine_learning_stay_with_standard():
    proto = model("""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3, "f" : 1]>
        agraph (float[2,4] x) => (float[2,4] y) { h = f.twice(x) y = ai.onnx.ml.Binarizer(h) }
        <opset_import: ["" : 17], domain: "f"> twice (v) => (w) { w = Add(v, v) }""")
    result = convert_version(proto, 13, options=Options(standard=True)).model
    assert [node.op_type for node in result.graph.node] == ["twice", "Binarizer"]


@pytest.mark.parametrize(
    ("runtime", "stays"), [("onnxruntime", True), ("openvino-2024.2", False), ("directml-1.12", True), ("./npu.toml", False)]
)
def test_a_runtime_gets_the_operators_that_it_has(runtime, stays, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "npu.toml").write_text('title = "NPU"\n[[release]]\nevidence = "tried"\n', encoding="utf-8")
    result = convert_version(model(GELU), options=Options(for_runtimes=[runtime]), compare="off").model
    assert ("Gelu" in {node.op_type for node in result.graph.node}) == stays


def test_the_rules_can_be_skipped():
    with pytest.raises(UnconvertibleError, match=r"rule microsoft\.gelu is needed here"):
        convert_version(model(GELU), 13, compare="off", options=Options(standard=True, skip=frozenset({"microsoft"})))


# -- operators that round to steps in their own way

SIGMOID = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (uint8[40] x) => (uint8[40] y) <float s = {0.02}, uint8 z = {100}, float t = {0.004}, uint8 w = {0}> {
        y = com.microsoft.QLinearSigmoid (x, s, z, t, w) }"""


@pytest.mark.parametrize(("steps", "is_found"), [(0, False), (1, False), (2, True)])
@pytest.mark.parametrize("how", ["auto", "nodes"])
def test_a_result_that_is_two_steps_apart_is_wrong(how, steps, is_found):
    @replace("com.microsoft", "QLinearSigmoid", opset=13, steps=True)
    def one_apart(node):
        op = node.op
        real = op.Sigmoid(op.DequantizeLinear(*node.inputs[:3]))
        moved = op.Sub(real, op.const(0.004 * steps, np.float32))
        node.give(op.QuantizeLinear(moved, node.input(3), node.input(4)))

    def convert():
        return convert_version(model(SIGMOID), 17, compare=how, options=Options(rules=[one_apart]))

    if is_found:
        with pytest.raises(CompareError, match="differ"):
            convert()
    else:
        assert convert().report.comparison.status == "equal"
