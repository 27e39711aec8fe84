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
    with pytest.raises(SplitRewriteError, match=r"rules: .*print.* is not a function decorated with 'replace'"):
        convert_version(model(MINE), 13, options=Options(rules=[print]))


def test_a_name_that_nobody_offers_is_refused():
    with pytest.raises(SplitRewriteError, match="rules: no installed package offers rules as 'nobody'"):
        convert_version(model(MINE), 13, options=Options(rules=["nobody"]))


def test_refusals_of_a_rule_are_blockers():
    with pytest.raises(UnconvertibleError, match=r"Twice 'n' \(main graph\): nobody doubles this … hint: halve it"):
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
