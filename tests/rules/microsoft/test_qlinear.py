"""8-bit operators of onnxruntime between DequantizeLinear and QuantizeLinear, beside its kernels.

QLinearReduceMean has no kernel: there numpy computes what its documentation says.
"""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import whole
from helpers import run

from split_rewrite.rewriter import convert_version

KINDS = {"uint8": np.uint8, "int8": np.int8}


def constants(kind: str, *names: str, points: bool = True) -> dict[str, np.ndarray]:
    """For each of the names a scale, "a_s", and a zero point, "a_z"."""
    scales = {f"{name}_s": np.float32(0.0123 + 0.0117 * number) for number, name in enumerate(names)}
    zeros = {f"{name}_z": KINDS[kind](5 + 7 * number) for number, name in enumerate(names)} if points else {}
    return {name: np.asarray(value) for name, value in (scales | zeros).items()}


def test_a_scale_for_each_channel_is_refused():
    inputs = {"a": whole(np.uint8, 2, 4)}
    stored = constants("uint8", "a", "y") | {"a_s": np.array([0.1, 0.2], np.float32)}
    message = refused("y = com.microsoft.QLinearSigmoid (a, a_s, a_z, y_s, y_z)", inputs, "uint8[2,4] y", constants=stored)
    assert "'a_s' has 2 elements, and QLinearSigmoid takes one for all" in message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("operator", "steps"), [("QLinearAdd", 1), ("QLinearMul", 0)])
def test_of_two_operands(operator, steps, kind):
    """onnxruntime adds with integers, which may be a step off. Without zero points it does not load them."""
    inputs = {"a": whole(KINDS[kind], 2, 3, 50), "b": whole(KINDS[kind], 3, 1)}
    node = f"y = com.microsoft.{operator} (a, a_s, a_z, b, b_s, b_z, y_s, y_z)"
    stored = constants(kind, "a", "b", "y")
    result = assert_standard(node, inputs, f"{kind}[2,3,50] y", constants=stored, atol=steps)
    assert operators(result) == ["DequantizeLinear", "DequantizeLinear", operator.removeprefix("QLinear"), "QuantizeLinear"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [True, False])
@pytest.mark.parametrize(
    "operator", ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearLeakyRelu <alpha = 0.3>", "QLinearSoftmax <opset = 13, axis = 1>"]
)
def test_of_one_operand(operator, points, kind):
    if "Softmax" in operator and not points:
        return  # it needs the zero point of its output
    inputs = {"a": whole(KINDS[kind], 2, 3, 50)}
    node = (
        f"y = com.microsoft.{operator} (a, a_s, a_z, y_s, y_z)" if points else f'y = com.microsoft.{operator} (a, a_s, "", y_s, "")'
    )
    stored, steps = constants(kind, "a", "y", points=points), int("Softmax" in operator)  # onnxruntime's Softmax rounds down
    assert_standard(node, inputs, f"{kind}[2,3,50] y", constants=stored, targets=(18, 13, 10), atol=steps)


@pytest.mark.parametrize("axis", [", axis = 1", ", axis = 2", ", axis = -1", ""])
def test_a_softmax_over_all_axes_from_one_on(axis):
    node = f"y = com.microsoft.QLinearSoftmax <opset = 11{axis}> (a, a_s, a_z, y_s, y_z)"
    stored = constants("uint8", "a", "y") | {"y_s": np.float32(1 / 256), "y_z": np.uint8(0)}
    stored = {name: np.asarray(value) for name, value in stored.items()}
    assert_standard(node, {"a": whole(np.uint8, 2, 3, 5)}, "uint8[2,3,5] y", constants=stored, atol=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice(kind):
    inputs = {"c": np.array([[True], [False], [True]]), "a": whole(KINDS[kind], 2, 3, 5), "b": whole(KINDS[kind], 5)}
    node = "y = com.microsoft.QLinearWhere (c, a, a_s, a_z, b, b_s, b_z, y_s, y_z)"
    assert_standard(node, inputs, f"{kind}[2,3,5] y", constants=constants(kind, "a", "b", "y"))


@pytest.mark.parametrize("kind", KINDS)
def test_concatenation(kind):
    inputs = {"a": whole(KINDS[kind], 2, 3), "b": whole(KINDS[kind], 2, 4)}
    node = "y = com.microsoft.QLinearConcat <axis = 1> (y_s, y_z, a, a_s, a_z, b, b_s, b_z)"
    assert_standard(node, inputs, f"{kind}[2,7] y", constants=constants(kind, "a", "b", "y"))


@pytest.mark.parametrize("form", ["a_s, a_z, y_s, y_z", "v_s, v_z, y_s, y_z"])
def test_scales_that_are_inputs_or_vectors(form):
    inputs = {"a": whole(np.uint8, 4, 6)}
    stored = constants("uint8", "a", "y")
    computed = {"v_s": stored["a_s"].reshape(1), "v_z": stored["a_z"].reshape(1)} if "v_s" in form else {}
    node = f"y = com.microsoft.QLinearSigmoid (a, {form})"
    assert_standard(
        node, inputs | computed, "uint8[4,6] y", constants=stored if not computed else {k: stored[k] for k in ("y_s", "y_z")}
    )


@pytest.mark.parametrize(("axes", "keepdims", "shape"), [("[1]", 1, "2,1,5"), ("[0,-1]", 0, "3")])
def test_mean(axes, keepdims, shape):
    a, stored = whole(np.uint8, 2, 3, 5), constants("uint8", "a", "y")
    node = f"y = com.microsoft.QLinearReduceMean <axes = {axes}, keepdims = {keepdims}> (a, a_s, a_z, y_s, y_z)"
    proto = contrib_model(node, {"a": a}, f"uint8[{shape}] y", constants=stored)
    real = (a.astype(np.float32) - stored["a_z"]) * stored["a_s"]
    mean = real.mean({"[1]": 1, "[0,-1]": (0, 2)}[axes], keepdims=bool(keepdims))
    expected = np.clip(np.rint(mean / stored["y_s"]) + stored["y_z"], 0, 255)
    for target in (18, 13):
        result = convert_version(proto, target, compare="off", options=STANDARD).model
        np.testing.assert_allclose(run(result, {"a": a})[0].astype(float), expected, atol=1)
