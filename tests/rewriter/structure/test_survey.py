"""The survey of a model: all graphs and operators, at any depth."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.structure.survey import Survey, all_tensors

pytestmark = pytest.mark.quick

NESTED = """g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    h = Neg(x)
    y = If(c) <then_branch = t () => (float[2] a) <float[2] v = {3, 4}> {
        a = If(c) <then_branch = u () => (float[2] e) { e = Neg(h) }, else_branch = v () => (float[2] f) { f = Add(h, w) }> },
      else_branch = b () => (float[2] d) { k = Constant<value_floats = [1.0, 2.0]>() d = Add(h, k) }> }"""


def test_graphs_and_operators_at_any_depth() -> None:
    survey = Survey(model(NESTED))
    assert sorted(graph.name for graph in survey.graphs) == ["b", "g", "t", "u", "v"]
    assert survey.operators == {"Neg": 2, "If": 2, "Add": 2, "Constant": 1}
    assert survey.main_labels == ["Neg", "If"]


def test_functions_are_graphs_too() -> None:
    text = '<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) { y = local.f(x) } '
    survey = Survey(model(text + '<opset_import: ["" : 18], domain: "local"> f (a) => (b) { b = Neg(a) }'))
    assert survey.operators == {"local::f": 1, "Neg": 1}


def test_tensors_of_all_graphs() -> None:
    assert sorted(tensor.name for tensor in all_tensors(model(NESTED))) == ["v", "w"]


def test_an_operator_that_is_not_text_is_refused() -> None:
    proto = model("g (float[4] x) => (float[4] y) { y = Relu(x) }")
    damaged = type(proto).FromString(proto.SerializeToString().replace(b"Relu", b"\xff\xfe\xfd\xfc"))
    with pytest.raises(InvalidModelError, match="is not valid UTF-8"):
        Survey(damaged)
