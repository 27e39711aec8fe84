"""FusedGemm as Gemm and an activation, beside onnxruntime's kernel."""

from __future__ import annotations

import pytest
from contrib import assert_standard, operators, refused
from drawing import normal


def test_a_parameter_that_is_missing():
    node = 'y = com.microsoft.FusedGemm <activation = "HardSigmoid", activation_alpha = 0.2> (a, b)'
    message = refused(node, {"a": normal(3, 4), "b": normal(4, 5)}, "float[3,5] y")
    assert "the activation HardSigmoid of FusedGemm needs beta" in message


ACTIVATIONS = {
    "Relu": "",
    "Relu with a parameter that it does not have": ", activation_alpha = 0.3",
    "Sigmoid": "",
    "Softplus": "",
    "Softsign": "",
    "Tanh": "",
    "LeakyRelu": ", activation_alpha = 0.2",
    "Elu": ", activation_alpha = 0.2",
    "Celu": ", activation_alpha = 0.2",
    "ThresholdedRelu": ", activation_alpha = 0.2",
    "HardSigmoid": ", activation_alpha = 0.2, activation_beta = 0.3",
    "Selu": ", activation_alpha = 1.5, activation_gamma = 1.1",
    "ScaledTanh": ", activation_alpha = 0.2, activation_beta = 0.3",
    "ParametricSoftplus": ", activation_alpha = 0.2, activation_beta = 0.3",
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    node = f'y = com.microsoft.FusedGemm <activation = "{activation.split()[0]}"{ACTIVATIONS[activation]}> (a, b, c)'
    inputs = {"a": normal(3, 4), "b": normal(4, 5), "c": normal(5)}
    assert_standard(node, inputs, "float[3,5] y", targets=(18, 13, 9), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flags", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("operands", ["a, b", "a, b, c"])
def test_products(operands, flags):
    a, b = normal(3, 4), normal(4, 5)
    inputs = {"a": a.T if flags[0] else a, "b": b.T if flags[1] else b} | ({"c": normal(3, 1)} if "c" in operands else {})
    attributes = f'activation = "Relu", alpha = 0.5, beta = 2.0, transA = {flags[0]}, transB = {flags[1]}'
    result = assert_standard(
        f"y = com.microsoft.FusedGemm <{attributes}> ({operands})", inputs, "float[3,5] y", rtol=1e-4, atol=1e-5
    )
    assert operators(result) == ["Gemm", "Relu"]
