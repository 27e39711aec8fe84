"""The facts about a model."""

from __future__ import annotations

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import InvalidModelError
from split_rewrite.rewriter.inspection.inspecting import inspect_model

TEXT = """<ir_version: 8, opset_import: ["" : 18, "a.b" : 1], producer_name: "pytorch", producer_version: "2.1">
    g (float[N,4] x, seq(float) s) => (float[N,4] y, float[M] q) <float[4] w = {1, 2, 3, 4}, int64[2] i = {1, 2}>
    { y = Add(x, w) t = Gather(w, i) u = Mul(t, t) z = a.b.Own(u) q = a.b.Own(z) }"""


def test_an_invalid_model_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="not a valid model"):
        inspect_model(model("g (float[2] x) => (float[2] y) { y = Add(x) }"))


def test_facts() -> None:
    found = inspect_model(onnx.parser.parse_model(TEXT.replace(", seq(float) s", "")))
    assert (found.opset, found.ir_version, found.exporter, found.nodes) == (18, 8, "pytorch 2.1", 5)
    assert [(value.name, value.type) for value in found.inputs] == [("x", "float[N,4]")]
    assert found.parameters == {"float": (4, 16), "int64": (2, 16)}
    assert found.operators == {"ai.onnx": {"Add": 1, "Gather": 1, "Mul": 1}, "a.b": {"Own": 2}}
    assert found.open == ["x: N", "the rank of 1 values, the first of which is z"]
    assert found.reach is not None and (found.reach.lowest, found.reach.highest >= 18) == (1, True)


def test_what_stops_it_is_told() -> None:
    found = inspect_model(model("g (string[2] x) => (string[2] y) { y = StringConcat(x, x) }", 20, 9))
    assert found.reach is not None and found.reach.lowest == 20
    assert [blocker.op_type for blocker in found.reach.below] == ["StringConcat"]
