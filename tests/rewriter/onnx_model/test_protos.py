"""What can be read from single messages of a model."""

from __future__ import annotations

import pytest
from helpers import model
from onnx import helper

from split_rewrite.rewriter.onnx_model.protos import captured, default_opset, defined_names, label_of, reads, resolved, shown_name

pytestmark = pytest.mark.quick

IF = """g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    y = If(c) <then_branch = t () => (float[2] a) { b = Neg(x) a = Add(b, w) }, else_branch = e () => (float[2] d) { d = Relu(x) }> }"""


def test_the_default_domain_has_two_names() -> None:
    assert default_opset([helper.make_opsetid("ai.onnx", 13), helper.make_opsetid("other", 2)]) == 13
    assert default_opset([helper.make_opsetid("other", 2)]) is None


def test_aliases_are_followed_to_their_end() -> None:
    assert resolved("a", {"a": "b", "b": "c"}) == "c"
    assert resolved("x", {"a": "b"}) == "x"


def test_a_node_reads_what_its_subgraphs_capture() -> None:
    node = model(IF).graph.node[0]
    assert {"c", "x", "w"} <= set(reads(node))
    assert captured(node.attribute[0].g) == {"x", "w"}


def test_labels_and_names() -> None:
    assert label_of(helper.make_node("Relu", ["x"], ["y"])) == "Relu"
    assert label_of(helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")) == "com.microsoft::Gelu"
    assert shown_name(helper.make_node("Relu", ["x"], ["y"], name="act")) == "act"
    assert set(defined_names(model(IF).graph)) >= {"w", "y"}
