"""Convolutions with what onnxruntime fuses into them, beside its kernels.

NhwcConv and NhwcFusedConv have none on the CPU: they are compared with FusedConv between Transposes, by their documentation.
"""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, operators, refused
from drawing import normal, whole
from helpers import run

from split_rewrite.rewriter import convert_version

X, W, B, Z = normal(2, 4, 7, 8), normal(6, 2, 3, 3), normal(6), normal(2, 6, 5, 6)
STORED = {"w": W, "b": B}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('activation = "Nothing"', "FusedConv has the activation 'Nothing', which onnxruntime does not have"),
        ('activation = "Add"', "FusedConv has the activation 'Add', which onnxruntime does not have"),
        ('activation = "LeakyRelu"', "the activation LeakyRelu of FusedConv needs alpha"),
        ('activation = "Clip", activation_params = [0.0]', "the activation Clip of FusedConv needs max"),
    ],
)
def test_an_activation_that_there_is_not(attributes, message):
    node = f"y = com.microsoft.FusedConv <group = 2, {attributes}> (x, w, b)"
    assert message in refused(node, {"x": X}, "float[2,6,5,6] y", constants=STORED)


ACTIVATIONS = {
    "": [],
    "Relu": [],
    "Tanh": [],
    "Sigmoid": [],
    "LeakyRelu": [0.1],
    "Clip": [-0.5, 1.5],
    "HardSigmoid": [0.3, 0.4],
    "HardSwish": [0.2, 0.4],
}


@pytest.mark.parametrize("operands", ["x, w", "x, w, b", "x, w, b, z", 'x, w, "", z'])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation, operands):
    stated = f'activation = "{activation}", activation_params = {ACTIVATIONS[activation]},' if ACTIVATIONS[activation] else ""
    stated = stated or (f'activation = "{activation}",' if activation else "")
    node = f"y = com.microsoft.FusedConv <{stated} group = 2> ({operands})"
    inputs = {"x": X} | ({"z": Z} if "z" in operands else {})
    stored = {name: value for name, value in STORED.items() if name in operands}
    assert_standard(node, inputs, "float[2,6,5,6] y", constants=stored, targets=(18, 13, 9), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ("pads = [1,0,2,1], strides = [2,1]", "4,7"),
        ('auto_pad = "SAME_UPPER", kernel_shape = [3,3]', "7,8"),
        ("dilations = [2,3]", "3,2"),
    ],
)
def test_windows(attributes, sizes):
    node = f'y = com.microsoft.FusedConv <group = 2, activation = "Relu", {attributes}> (x, w, b)'
    result = assert_standard(node, {"x": X}, f"float[2,6,{sizes}] y", constants=STORED, rtol=1e-4, atol=1e-5)
    assert operators(result) == ["Conv", "Relu"]


@pytest.mark.parametrize("operator", ["NhwcConv", "NhwcFusedConv"])
def test_channels_last(operator):
    x = X.transpose(0, 2, 3, 1)
    node = f"y = com.microsoft.{operator} <group = 2, pads = [1,1,1,1]> (x, w, b)"
    result = convert_version(
        contrib_model(node, {"x": x}, "float[2,7,8,6] y", constants=STORED), 13, compare="off", options=STANDARD
    ).model
    fused = contrib_model(
        "y = com.microsoft.FusedConv <group = 2, pads = [1,1,1,1]> (x, w, b)", {"x": X}, "float[2,6,7,8] y", constants=STORED
    )
    expected = run(fused, {"x": X})[0].transpose(0, 2, 3, 1)
    np.testing.assert_allclose(run(result, {"x": x})[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("attributes", "sizes"), [("kernel_shape = [2,3]", "6,6"), ("kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]", "4,4")]
)
def test_largest_of_the_last_axes_but_one(attributes, sizes, kind):
    name = np.dtype(kind).name
    node = f"y = com.microsoft.NhwcMaxPool <{attributes}> (x)"
    assert_standard(node, {"x": whole(kind, 2, 7, 8, 3)}, f"{name}[2,{sizes},3] y")


def test_between_two_the_channels_stay_first():
    node = """a = com.microsoft.NhwcMaxPool <kernel_shape = [2,3]> (x)
        y = com.microsoft.NhwcMaxPool <kernel_shape = [2,2]> (a)"""
    result = assert_standard(node, {"x": whole(np.uint8, 2, 7, 8, 3)}, "uint8[2,5,5,3] y")
    assert operators(result) == ["Transpose", "MaxPool", "MaxPool", "Transpose"]


def test_what_else_reads_them_gets_them_last():
    node = """a = com.microsoft.NhwcMaxPool <kernel_shape = [2,3]> (x) b = com.microsoft.NhwcMaxPool <kernel_shape = [1,1]> (a)
        y = Add (a, b)"""
    result = assert_standard(node, {"x": whole(np.uint8, 2, 7, 8, 3)}, "uint8[2,6,6,3] y", targets=(14,))
    assert operators(result) == ["Transpose", "MaxPool", "Transpose", "MaxPool", "Transpose", "Add"]
