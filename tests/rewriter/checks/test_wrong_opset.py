"""Models whose nodes have the form of another opset than the model declares: named, and converted when told the right opset."""

from __future__ import annotations

import helpers
import numpy as np
import pytest
from helpers import convert_version

from split_rewrite.rewriter import InvalidModelError, Options

HEAD = "g (float[4] x, int64[2] s) => (float[P] a) "
STRANGERS = {
    "sizes-as-input-at-12": (12, "{[n] a, b = Split(x, s)}", "Split 'n': it has 2 inputs, and the form of opset 11 has 1", 13),
    "count-at-13": (13, "{[n] a, b = Split<num_outputs = 2>(x)}", "Split 'n': it has the attribute num_outputs", 18),
    "axes-as-input-at-11": (11, "{[n] a = Unsqueeze(x, s)}", "Unsqueeze 'n': it lacks the attribute axes", 13),
    "axes-as-attribute-at-13": (13, "{[n] a = Unsqueeze<axes = [0]>(x)}", "Unsqueeze 'n': it has the attribute axes", 12),
    "operator-of-the-future": (12, "{[n] a = Gelu(x)}", "Gelu 'n': opset 12 does not have this operator", 20),
    "sizes-as-attribute-at-18": (18, "{[n] a, b = Split<split = [2, 2]>(x)}", "Split 'n': it has the attribute split", 12),
    "in-a-subgraph": (
        12,
        "{c = Constant<value = bool {1}>() [i] a = If (c) <then_branch = t () => (float[Q] p) {[n] p, q = Split(x, s)}, "
        "else_branch = e () => (float[R] r) {r = Identity(x)}>}",
        "Split 'n': it has 2 inputs",
        13,
    ),
}


@pytest.mark.parametrize(("opset", "body", "complaint", "nearest"), STRANGERS.values(), ids=STRANGERS)
def test_named_with_advice(opset: int, body: str, complaint: str, nearest: int) -> None:
    error = helpers.invalidity(helpers.model(HEAD + body, opset), 17)
    assert complaint in error
    assert f"and the model counts as opset {opset}" in error
    assert f"use --assume-opset {nearest}" in error


def test_no_opset_fits_all_nodes() -> None:
    source = helpers.model(HEAD + "{b, c = Split<split = [2, 2]>(x) a = Unsqueeze(b, s)}", 12)
    assert "no single opset fits all nodes" in helpers.invalidity(source, 13)


def test_the_rest_is_counted() -> None:
    source = helpers.model(HEAD + "{[one] a, b = Split(x, s) [two] c, d = Split(x, s)}", 12)
    assert "Split 'one' (and 1 more nodes)" in helpers.invalidity(source, 13)


def test_the_assumed_opset_is_believed() -> None:
    source = helpers.model("g (float[4] x) => (float[P] a, float[Q] b) <int64[2] s = {1, 3}> {a, b = Split(x, s)}", 12)
    result = convert_version(source, 11, options=Options(assume_opset=13))
    assert (result.report.source_opset, result.report.target_opset) == (13, 11)
    a, b = helpers.run(result.model, {"x": np.arange(4, dtype=np.float32)})
    assert (a.tolist(), b.tolist()) == ([0], [1, 2, 3])
    with pytest.raises(InvalidModelError, match=r"not a valid model"):
        convert_version(source, 11, options=Options(assume_opset=12))


def test_the_opset_that_the_user_states_is_named() -> None:
    source = helpers.model(HEAD + "{[n] a, b = Split<num_outputs = 2>(x)}", 13)
    with pytest.raises(InvalidModelError, match=r"and the model counts as opset 17; opset 18 .*use --assume-opset 18"):
        convert_version(source, 13, options=Options(assume_opset=17))


def test_a_node_of_a_function_is_held_against_the_opset_of_the_function() -> None:
    text = """<ir_version: 8, opset_import: ["" : 11, "f" : 1]> g (float[4] x) => (float[2] a, float[2] b) { a, b = f.halves (x) }
    <domain: "f", opset_import: ["" : 17]> halves (x) => (a, b) { [n] a, b = Split<num_outputs = 2> (x) }"""
    error = helpers.invalidity(helpers.model(text), 13)
    assert "Split 'n': it has the attribute num_outputs" in error and "and the function 'halves' says opset 17" in error
    assert "--assume-opset" not in error
