"""Constants without the name of their attribute, and in forms of later opsets, as onnxruntime reads them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, invalidity, model, run

FORMS = {
    "value_float": ("value_float = 2.5", [2.5, 2.5]),
    "value_floats": ("value_floats = [2.5, 4.0]", [2.5, 4.0]),
    "value": ("value = float {2.5}", [2.5, 2.5]),
}
X = np.array([1, 1], np.float32)


def constant(form: str, opset: int) -> onnx.ModelProto:
    return model(f"g (float[2] x) => (float[2] y) {{ c = Constant <{FORMS[form][0]}> () y = Mul (x, c) }}", opset)


def test_an_attribute_of_another_node_is_not_named() -> None:
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 0> (x) }", 13)
    proto.graph.node[0].attribute[0].name = ""
    assert "Field 'name' of 'attr' is required to be non-empty" in invalidity(proto, 11)


def test_two_attributes_are_not_named() -> None:
    proto = constant("value", 13)
    proto.graph.node[0].attribute.add().CopyFrom(proto.graph.node[0].attribute[0])
    proto.graph.node[0].attribute[0].name = ""
    assert "is not a valid model" in invalidity(proto, 11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("target", [13, 11, 18])
def test_the_only_attribute_of_a_constant_is_named_by_its_type(form: str, target: int) -> None:
    proto = constant(form, 13)
    proto.graph.node[0].attribute[0].name = ""
    result = convert_version(proto, target)
    assert f"Constant 'c' (model): its attribute had no name: it is {form}, by its type" in result.report.warnings
    np.testing.assert_array_equal(run(result.model, {"x": X})[0], FORMS[form][1])


@pytest.mark.parametrize("form", ["value_float", "value_floats"])
@pytest.mark.parametrize("target", [9, 18])
def test_numbers_before_opset_12(form: str, target: int) -> None:
    result = convert_version(constant(form, 11), target)
    message = f"it had {form}, which came with opset 12: it has a tensor now, as onnxruntime reads it"
    assert f"Constant 'c' (model): {message}" in result.report.warnings
    np.testing.assert_array_equal(run(result.model, {"x": X})[0], FORMS[form][1])
