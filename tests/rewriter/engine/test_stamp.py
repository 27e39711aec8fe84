"""Opset and IR version of the result."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from helpers import convert_version

from split_rewrite.rewriter import InvalidModelError, Options, SplitRewriteError
from split_rewrite.rewriter.engine.stamp import assume, drop_imports

TEXT = "g (float[4] x) => (float[4] y) { y = Relu(x) }"


@pytest.mark.parametrize("declared", [0, 99])
def test_an_ir_version_that_onnx_does_not_know_is_what_the_user_says(declared: int) -> None:
    source = helpers.model(TEXT, 17)
    source.ir_version = declared
    with pytest.raises(InvalidModelError, match="IR version"):
        convert_version(source, 13)
    done = convert_version(source, 13, options=Options(ir_version=7), compare="required")
    assert done.model.ir_version == 7
    assert source.ir_version == declared


def test_an_ir_version_that_onnx_does_not_know_cannot_be_stated() -> None:
    source = helpers.model(TEXT, 17)
    source.ir_version = 0
    with pytest.raises(InvalidModelError, match="the model states no IR version"):
        convert_version(source, 13, options=Options(ir_version=99))


def test_an_opset_that_the_model_does_not_state_is_what_the_user_says() -> None:
    source = helpers.model(TEXT, 17)
    del source.opset_import[:]
    with pytest.raises(InvalidModelError, match="does not state its opset"):
        convert_version(source, 11)
    done = convert_version(source, 11, options=Options(assume_opset=13), compare="required")
    assert [(entry.domain, entry.version) for entry in done.model.opset_import] == [("", 11)]


def test_what_the_model_states_of_its_ir_version_counts() -> None:
    source = helpers.model(TEXT, 17, ir_version=8)
    assert not assume(source, None, 9)
    assert source.ir_version == 8


IR_VERSIONS = {
    "lowered-on-the-way-down": (18, 8, 11, 6),
    "kept-where-older-already": (18, 4, 13, 4),
    "kept-on-the-way-up": (11, 6, 18, 6),
    "kept-at-the-same-opset": (13, 8, 13, 8),
    "oldest": (9, 8, 7, 3),
}


@pytest.mark.parametrize(("opset", "ir", "target", "expected"), IR_VERSIONS.values(), ids=IR_VERSIONS)
def test_ir_version(opset: int, ir: int, target: int, expected: int) -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", opset, ir_version=ir)
    assert convert_version(source, target).model.ir_version == expected


def test_ir_version_stays_as_new_as_the_model_needs() -> None:
    text = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) {y = local.f(x)}
    <domain: "local", opset_import: ["" : 18]> f (v) => (w) {w = Relu(v)}"""
    assert convert_version(helpers.model(text), 11).model.ir_version == 8, "functions came with IR 8"
    source = helpers.model("g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {y = Add(x, w)}", 13)
    assert convert_version(source, 7).model.ir_version == 4, "an initializer that is no input came with IR 4"


@pytest.mark.parametrize(("ir", "expected"), [(7, 4), (4, 4), (3, 3)])
def test_ir_version_stays_at_one_that_lets_callers_override(ir: int, expected: int) -> None:
    text = "g (float[4] x, float[4] w) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {y = Mul(x, w)}"
    result = convert_version(helpers.model(text, 13, ir_version=ir), 7).model
    assert result.ir_version == expected
    if expected == 4:
        x, w = np.ones(4, np.float32), np.full(4, 5, np.float32)
        np.testing.assert_array_equal(helpers.run(result, {"x": x, "w": w})[0], w, strict=True)
    older = convert_version(helpers.model(text, 13, ir_version=ir), 7, options=Options(ir_version=3)).model
    assert older.ir_version == 3


def test_ir_version_on_request() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 18)
    assert convert_version(source, 18, options=Options(ir_version=7)).model.ir_version == 7
    text = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]> g (float[4] x) => (float[4] y) {y = local.f(x)}
    <domain: "local", opset_import: ["" : 18]> f (v) => (w) {w = Relu(v)}"""
    with pytest.raises(SplitRewriteError, match="needs at least IR version 8"):
        convert_version(helpers.model(text), 18, options=Options(ir_version=7))


IMPORTS = """<ir_version: 8, opset_import: ["" : 17, "mine" : 1, "idle" : 1, "f" : 1]> g (float[4] x) => (float[4] y) {y = Relu(x)}
    <domain: "f", opset_import: ["" : 17, "mine" : 1]> keep (v) => (w) {w = Relu(v)}"""


def domains(owner: onnx.ModelProto | onnx.FunctionProto) -> list[str]:
    return [entry.domain for entry in owner.opset_import]


def test_imports_stay_that_a_node_or_a_function_needs_or_that_nothing_used_before() -> None:
    proto = helpers.model(IMPORTS)
    drop_imports(proto, ["Relu", "mine::A", "f::keep", "ai.onnx::Relu"], ["Relu", "mine::B"])
    assert domains(proto) == ["", "mine", "idle", "f"]


def test_an_import_goes_with_the_last_node_of_its_domain() -> None:
    proto = helpers.model(IMPORTS)
    drop_imports(proto, ["Relu", "mine::A"], ["Relu"])
    assert domains(proto) == ["", "idle", "f"] and domains(proto.functions[0]) == [""]
