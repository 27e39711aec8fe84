"""Models that declare one opset and have nodes of another beside nodes of their own."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from helpers import convert_version
from onnx import ModelProto

from split_rewrite.rewriter import RuleError
from split_rewrite.rewriter.engine.conversion import Engine
from split_rewrite.rewriter.engine.outcome import Outcome

MEANS = "g (float[2,4] x) => (float[2,1] a, float[2,2] b) { p, q = Split<axis = 1, num_outputs = 2>(x) [m] a = %s b = Abs(q) }"
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def refusal(source: ModelProto) -> str:
    before = source.SerializeToString()
    error = helpers.invalidity(source, 17)
    assert source.SerializeToString() == before
    return error


def test_a_node_that_cannot_be_converted_is_refused() -> None:
    body = "{ b, c = Split<split = [2, 2]>(x) d = Squeeze<axes = [0]>(b) a = Unsqueeze(d, s) }"
    assert "no single opset fits all nodes" in refusal(helpers.model("g (float[4,1] x, int64[1] s) => (float a) " + body, 12))


def test_a_node_that_fits_no_opset_is_refused() -> None:
    source = helpers.model(MEANS % "ReduceMean<axes = [1], of = 3>(p)", 18)
    assert "Unrecognized attribute: axes" in refusal(source)


def test_the_user_is_asked_where_one_opset_fits() -> None:
    error = refusal(helpers.model(MEANS % "ReduceMean<keepdims = 1>(p)", 17))
    assert "opset 18" in error and "--assume-opset 18" in error


@pytest.mark.parametrize("target", [13, 18, 21])
def test_an_older_form_is_converted_to_the_declared_opset(target: int) -> None:
    source = helpers.model(MEANS % "ReduceMean<axes = [1]>(p)", 18)
    result = convert_version(source, target)
    said = "ReduceMean 'm' (model): it is in the form of opset 17, and the model is of opset 18: it was converted to opset 18"
    assert result.report.warnings == [said]
    onnx.checker.check_model(result.model, full_check=True)
    a, _ = helpers.run(result.model, {"x": X})
    assert a.tolist() == X[:, :2].mean(axis=1, keepdims=True).tolist()


def test_nodes_in_a_branch_and_of_several_opsets() -> None:
    """Squeeze is of opset 12 or older, Split of 18; Clip and the rest stay as they are."""
    text = """g (float[2,4] x, bool c) => (float[N,M] a) {
        [i] a = If (c) <then_branch = t () => (float[2,2] p) { p, q = Split<axis = 1, num_outputs = 2>(x) },
                        else_branch = e () => (float[2,2] r) { u = Unsqueeze<axes = [0]>(x) v = Squeeze<axes = [0]>(u)
                                                               r, s = Split<axis = 1, split = [2, 2]>(v) }> }"""
    result = convert_version(helpers.model(text, 13), 17)
    assert sorted(warning.split()[0] for warning in result.report.warnings) == ["Split", "Split", "Squeeze", "Unsqueeze"]
    for condition, expected in ((True, X[:, :2]), (False, X[:, :2])):
        (a,) = helpers.run(result.model, {"x": X, "c": np.array(condition)})
        assert a.tolist() == expected.tolist()


def test_a_model_with_functions_is_refused() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "f" : 1]> g (float[4] x) => (float[1] y) {
        a, b = Split<num_outputs = 2>(x) c = f.same (a) y = ReduceMean<axes = [0]>(c) }
    <domain: "f", opset_import: ["" : 18]> same (x) => (y) { y = Identity(x) }"""
    assert "no single opset fits all nodes" in refusal(helpers.model(text, 18))


def test_a_rule_that_fails_on_such_a_model_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Engine) -> None:
        raise RuleError("a rule failed")

    source = helpers.model(MEANS % "ReduceMean<axes = [1]>(p)", 18)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "run", fail)
        assert "no single opset fits all nodes" in refusal(source)


def test_nodes_that_stay_strangers_end_in_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    source = helpers.model(MEANS % "ReduceMean<axes = [1]>(p)", 18)
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "run", lambda _: Outcome())
        assert "no single opset fits all nodes" in refusal(source)
