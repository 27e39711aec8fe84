"""OptionalGetElement and OptionalHasElement of what is no optional."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run


def test_the_element_of_a_tensor_is_the_tensor():
    proto = model("g (float[2] x) => (float[2] y) { t = Relu (x) y = OptionalGetElement (t) }", 18)
    result = convert_version(proto, 17).model
    assert "OptionalGetElement" not in [node.op_type for node in result.graph.node]
    np.testing.assert_array_equal(run(result, {"x": np.float32([-1, 1])})[0], [0, 1])


@pytest.mark.parametrize("argument, expected", [("x", True), ("", False)])
@pytest.mark.parametrize("target", [17, 13])
def test_whether_there_is_an_element_is_known(argument, expected, target):
    proto = model(f"g (float[2] x) => (bool y) {{ y = OptionalHasElement ({argument}) }}", 18)
    result = convert_version(proto, target).model
    assert [node.op_type for node in result.graph.node] in (["Identity"], ["Constant"])
    assert run(result, {"x": np.float32([1, 2])})[0] == np.array(expected)


def test_an_optional_stays():
    proto = model("g (optional(float[2]) o) => (bool y) { y = OptionalHasElement (o) }", 18)
    assert [node.op_type for node in convert_version(proto, 17).model.graph.node] == ["OptionalHasElement"]


REWRITES = [
    (
        "optional.constant_answer",
        18,
        17,
        "g (float[2] x) => (bool y) { y = OptionalHasElement (x) }",
        "<bool v1 = {1}> { y = Identity (v1) }",
    ),
    (
        "optional.element_is_the_input",
        18,
        17,
        "g (float[2] x) => (float[2] y) { e = OptionalGetElement (x) y = Relu (e) }",
        "{ y = Relu (x) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
