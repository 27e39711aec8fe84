"""The differences between two schemas, and what they require of a node."""

from __future__ import annotations

import pytest
from onnx import NodeProto, helper

from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rewriter.opsets.delta import Delta
from split_rewrite.rewriter.opsets.transitions import schema_at

pytestmark = pytest.mark.quick


def delta(op_type: str, source: int, target: int) -> Delta:
    before, after = schema_at(op_type, source), schema_at(op_type, target)
    assert before is not None and after is not None
    return Delta(before, after)


def node(op_type: str, *inputs: str, **attributes: object) -> NodeProto:
    return helper.make_node(op_type, inputs, ["y"], **attributes)


def test_an_attribute_that_the_target_lacks_goes_where_it_holds_its_default() -> None:
    plain = node("ArgMax", "x", select_last_index=0)
    assert delta("ArgMax", 12, 11).gate_attributes(plain, "G") is True
    assert not plain.attribute


def test_an_attribute_that_says_something_else_is_refused() -> None:
    with pytest.raises(Unconvertible, match="select_last_index"):
        delta("ArgMax", 12, 11).gate_attributes(node("ArgMax", "x", select_last_index=1), "G")


def test_an_input_that_the_target_lacks_has_to_be_absent() -> None:
    step = delta("Dropout", 12, 10)
    step.gate_arity(node("Dropout", "x"))
    with pytest.raises(Unconvertible, match="input 'ratio' does not exist in the form of opset 10"):
        step.gate_arity(node("Dropout", "x", "ratio"))


def test_types_that_the_target_lost_are_named_by_their_values() -> None:
    step = delta("Relu", 14, 13)
    assert step.wrong_types(node("Relu", "x"), lambda _: "tensor(int32)") == ["x", "y"]
    assert step.wrong_types(node("Relu", "x"), lambda _: "tensor(float)") == []


def test_a_model_without_the_lost_types_fits() -> None:
    step = delta("Relu", 14, 13)
    assert step.fits(frozenset({"tensor(float)"})) and not step.fits(frozenset({"tensor(int32)"}))
    assert not step.fits(None), "any type is possible"
