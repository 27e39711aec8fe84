"""What is no valid model, before a conversion and after it."""

from __future__ import annotations

from itertools import cycle

import helpers
import onnx
import pytest
from helpers import convert_version, model
from onnx import AttributeProto

from split_rewrite.rewriter import ArgumentError, CheckError, InvalidModelError
from split_rewrite.rewriter.checks import validity
from split_rewrite.rewriter.checks.operators import CHECKS
from split_rewrite.rewriter.opsets.transitions import newest_opset, schema_at


@pytest.mark.parametrize(
    ("target", "reason"),
    [(0, "target opset 0 is unknown"), (99, "target opset 99 is unknown"), (-1, "target opset -1 is unknown")],
)
def test_unknown_targets(target: int, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        convert_version(helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}"), target)


def test_a_model_newer_than_onnx() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}")
    source.opset_import[0].version = 99
    error = helpers.invalidity(source, 18)
    assert "the model's opset 99 is unknown" in error and "a newer onnx may know it" in error


def test_a_result_that_fails_the_check_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    source = helpers.model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split(x)}", 13)
    answers = cycle(["", "broken", ""])
    monkeypatch.setattr(validity, "checker_failure", lambda *_, **__: next(answers))
    with pytest.raises(CheckError, match=r"the result failed onnx\.checker: broken"):
        convert_version(source, 18)


DEPRECATED = "y = Upsample(x, s)"


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (f"{DEPRECATED} z = Reluu(y)", "No Op registered for Reluu with domain_version of 13"),
        (f"{DEPRECATED} z = Relu<alpha = 1.0>(y)", "Unrecognized attribute: alpha for operator Relu"),
        (f"z = Relu(x, x, x) {DEPRECATED}", "input size 3 not in range"),
    ],
)
def test_what_is_wrong_beside_a_deprecated_operator_is_seen(nodes: str, reason: str) -> None:
    """onnx.checker stops at the first node that it does not like."""
    text = f"g (float[1,1,4,4] x) => (float[A,B,C,D] z) <float[4] s = {{1, 1, 2, 2}}> {{ {nodes} }}"
    assert reason in helpers.invalidity(helpers.model(text, 13), 9)


def test_a_deprecated_operator_alone_is_converted() -> None:
    text = f"g (float[1,1,4,4] x) => (float[A,B,C,D] z) <float[4] s = {{1, 1, 2, 2}}> {{ {DEPRECATED} z = Relu(y) }}"
    result = convert_version(helpers.model(text, 13), 9).model
    assert [node.op_type for node in result.graph.node] == ["Upsample", "Relu"]


def test_parts_that_no_rule_looks_into_are_refused() -> None:
    source = helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 13)
    source.training_info.add().algorithm.node.add(op_type="Split", input=["x"], output=["a", "b"])
    assert "has training_info, which is not converted" in helpers.invalidity(source, 18)
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[4] x) => (float[4] y) {y = Mish(x)}
    <domain: "", opset_import: ["" : 18]> Mish (v) => (w) {w = Relu(v)}"""
    assert "'Mish' redefines an operator" in helpers.invalidity(helpers.model(text), 13)


def test_an_absent_attribute_of_an_operator_with_a_function_body_is_valid() -> None:
    source = helpers.model("g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) {y = MeanVarianceNormalization(x)}", 13)
    result = convert_version(source, 18).model
    assert result.graph.node == source.graph.node


def test_more_data_than_a_tensor_has_elements() -> None:
    """onnx.checker sees only too little; no runtime loads such a model."""
    text = "{y = If(b) <then_branch = t () => (float[2] u) <float[2] c = {1, 2}> {u = Add(x, c)}, else_branch = e () => (float[2] v) {v = Neg(x)}>}"
    source = helpers.model(f"g (float[2] x, bool b) => (float[2] y) {text}")
    tensor = source.graph.node[0].attribute[0].g.initializer[0]
    tensor.ClearField("float_data")
    tensor.raw_data = bytes(12)
    assert helpers.invalidity(source, 11) == "tensor 'c': has 12 bytes of data, but its type and shape [2] take 8"


def test_nodes_that_differ_only_in_names_are_checked_once() -> None:
    text = "g (float[4] x, float[4] z) => (float[4] y) { y = Clip(x)\n v = Clip(z)\n w = Clip(x, , z) }"
    alike, other, third = (validity._form(node) for node in helpers.model(text).graph.node)
    assert alike == other != third


def test_a_function_of_an_opset_that_does_not_exist() -> None:
    source = helpers.model("g (float[2] x) => (float[2] y) {y = Relu(x)}")
    source.functions.append(
        onnx.helper.make_function(
            "local", "f", ["a"], ["b"], [onnx.helper.make_node("Relu", ["a"], ["b"])], [onnx.helper.make_opsetid("", -3)]
        )
    )
    assert "the function f's opset -3 is unknown: onnx" in helpers.invalidity(source, 11)


@pytest.mark.parametrize("op_type", sorted(CHECKS.keys() & {"Resize", "Slice", "Split", "AveragePool", "Concat", "Einsum"}))
def test_an_attribute_of_another_kind_is_what_onnx_says_it_is(op_type: str) -> None:
    """A list that is no list, for example, is not counted."""
    opset = newest_opset()
    schema = schema_at(op_type, opset)
    assert schema is not None
    for name in schema.attributes:
        proto = model("g (float[2,3] x) => (float[a,b] y) { y = Relu(x) }", opset)
        node = proto.graph.node[0]
        node.op_type = op_type
        node.attribute.add(name=name, type=AttributeProto.TYPE_PROTO)
        with pytest.raises(InvalidModelError, match=f"attribute.* {name}"):
            convert_version(proto, 9)
