"""Normalized sums of onnxruntime as ONNX's own operators, beside onnxruntime's kernels."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal
from helpers import known, model, run

from split_rewrite.rewriter import convert_version

X = normal(2, 3, 4)
TARGETS = (*known(23), 18, 13, 9)


def test_a_mean_that_the_kernel_does_not_compute():
    node = "y, m = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g)"
    found = refused(node, {"x": normal(1, 2, 4), "s": normal(1, 2, 4), "g": normal(4)}, "float[1,2,4] y, float[1,2,1] m")
    assert "SkipSimplifiedLayerNormalization computes no mean, which is read here" in found


def test_an_attribute_of_another_type():
    message = refused("y = com.microsoft.SimplifiedLayerNormalization <axis = 1.5> (x, x)", {"x": normal(2, 4)})
    assert "has no attribute axis of this type" in message


@pytest.mark.parametrize("node", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_a_first_input_that_would_be_repeated(node):
    inputs = {"x": normal(1, 3, 8), "s": normal(2, 3, 8), "g": normal(8)}
    assert "does not broadcast its first input" in refused(f"y = com.microsoft.{node}(x, s, g)", inputs, "float[1,3,8] y")


ROWS = "float[2,3,1]"
OUTPUTS = {
    "y": "float[2,3,4] y",
    'y, "", "", z': "float[2,3,4] y, float[2,3,4] z",
    'y, "", w': f"float[2,3,4] y, {ROWS} w",
    "y, w": f"float[2,3,4] y, {ROWS} w",
    "y, v, w, z": f"float[2,3,4] y, {ROWS} v, {ROWS} w, float[2,3,4] z",
}
"""The outputs of a node, and their types."""


def of_type(kind: type, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array.astype(kind) for name, array in arrays.items()}


@pytest.mark.parametrize(("outputs", "declared"), OUTPUTS.items(), ids=OUTPUTS)
@pytest.mark.parametrize("operands", ["g", "g, b", 'g, "", o', "g, b, o"])
def test_normalized_sum(outputs, declared, operands):
    given = {"x": X, "s": normal(2, 3, 4), "g": normal(4), "b": normal(4), "o": normal(4)}
    inputs = {name: array for name, array in given.items() if name in f"x, s, {operands}"}
    node = f"{outputs} = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, s, {operands})"
    assert_standard(node, inputs, declared, targets=(17, 13, 9), rtol=1e-5, atol=1e-6, compare="off")


@pytest.mark.parametrize("operator", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("shape", [(1, 3, 4), (3, 4)])
def test_the_second_is_the_same_for_all(operator, shape):
    inputs = {"x": X, "s": normal(*shape), "g": normal(4)}
    assert_standard(f"y = com.microsoft.{operator} (x, s, g)", inputs, "float[2,3,4] y", rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_a_sum_of_float16(operator):
    inputs = of_type(np.float16, {"x": X, "s": normal(2, 3, 4), "g": normal(4), "b": normal(4)})
    node = f'y, "", "", z = com.microsoft.{operator} (x, s, g, b)'
    assert_standard(node, inputs, "float16[2,3,4] y, float16[2,3,4] z", rtol=4e-3, atol=4e-3, compare="off")


@pytest.mark.parametrize("outputs", ["y", 'y, "", "", z', 'y, "", w'])
@pytest.mark.parametrize("bias", ["", ", b"])
def test_sum_normalized_by_squares(outputs, bias):
    inputs = {"x": X, "s": normal(2, 3, 4), "g": normal(4)} | ({"b": normal(4)} if bias else {})
    node = f"{outputs} = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.00001> (x, s, g{bias})"
    assert_standard(node, inputs, OUTPUTS[outputs], targets=TARGETS, rtol=1e-5, atol=1e-6, compare="off")


def assert_adopted(node: str, inputs: dict[str, np.ndarray], declared: str, tolerance: float) -> None:
    """Of an operator of onnxruntime in ONNX's own domain: the result computes the same with ONNX's own at each target."""
    proto = contrib_model(node, inputs, declared)
    del proto.opset_import[1]
    for target in TARGETS:
        result = convert_version(proto, target, compare="off").model
        assert "SimplifiedLayerNormalization" not in operators(result)
        for wanted, got in zip(run(proto, inputs), run(result, inputs), strict=True):
            assert got.dtype == wanted.dtype
            np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("kind", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12), (np.float16, 2e-3)])
@pytest.mark.parametrize(("axis", "scale"), [(-1, normal(4)), (2, normal(4)), (1, normal(3, 4)), (1, normal(4))])
def test_normalized_by_squares(kind, tolerance, axis, scale):
    inputs = of_type(kind, {"x": X, "g": scale})
    name = {np.float32: "float", np.float64: "double", np.float16: "float16"}[kind]
    node = f"y = SimplifiedLayerNormalization <axis = {axis}, epsilon = 0.001> (x, g)"
    assert_adopted(node, inputs, f"{name}[2,3,4] y", tolerance)


def test_the_reciprocal_of_the_root():
    node = "y, w = SimplifiedLayerNormalization <axis = 1> (x, g)"
    assert_adopted(node, {"x": X, "g": normal(4)}, "float[2,3,4] y, float[2,1,1] w", 1e-6)


@pytest.mark.parametrize(("data", "scale", "kind"), [(np.float16, np.float32, "float"), (np.float32, np.float16, "float16")])
def test_the_result_has_the_type_of_the_scale(data, scale, kind):
    inputs = {"x": X.astype(data), "g": normal(4).astype(scale)}
    node = "y = SimplifiedLayerNormalization (x, g)"
    assert_adopted(node, inputs, f"{kind}[2,3,4] y", 2e-3)


SIMPLIFIED = """<ir_version: 8, opset_import: ["" : 17]> agraph (float[2,3,4] x, float[4] g) => (float[2,3,4] y) {
    y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.001, stash_type = 1> (x, g) }"""


@pytest.mark.parametrize("target", TARGETS)
def test_an_operator_of_onnxruntime_in_the_domain_of_onnx(target):
    proto, inputs = model(SIMPLIFIED), {"x": X, "g": normal(4)}
    result, report = convert_version(proto, target, compare="required", options=STANDARD)
    assert {node.domain for node in result.graph.node} == {""}
    assert any("SimplifiedLayerNormalization" in warning for warning in report.warnings)
    np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-6)


def test_below_23_it_is_what_exporters_write():
    result = convert_version(model(SIMPLIFIED), 13, compare="off", options=STANDARD).model
    assert operators(result) == ["Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]
