"""8-bit pooling of onnxruntime between DequantizeLinear and QuantizeLinear, beside its kernels. Ties may round to the other step."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from contrib import assert_standard, operators, refused
from drawing import whole

STORED = {
    "s": np.array(0.021, np.float32),
    "z": np.array(7, np.uint8),
    "t": np.array(0.017, np.float32),
    "w": np.array(3, np.uint8),
}
FORMS = {
    "plain": ("kernel_shape = [2,2]", "6,7"),
    "strides": ("kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]", "4,4"),
    "padding counts": ("kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1", "7,8"),
    "ceil": ("kernel_shape = [2,2], strides = [2,2], ceil_mode = 1", "4,4"),
    "same": ('kernel_shape = [2,2], strides = [2,2], auto_pad = "SAME_UPPER"', "4,4"),
}


def test_refuses_windows_beyond_padding_that_counts():
    """onnxruntime divides them by the whole window, and AveragePool by what lies within the padding."""
    attributes = "kernel_shape = [3,3], strides = [2,2], ceil_mode = 1, count_include_pad = 1, pads = [0,0,1,1]"
    node = f"y = com.microsoft.QLinearAveragePool <{attributes}> (x, s, z, t, w)"
    message = refused(node, {"x": whole(np.uint8, 1, 1, 5, 5)}, "uint8[1,1,3,3] y", constants=STORED)
    assert "it counts what its last windows cover behind the padding" in message


def test_refuses_automatic_padding_far_below_zero():
    """onnxruntime's QLinearAveragePool begins behind the first element then, and its AveragePool does not load."""
    node = 'y = com.microsoft.QLinearAveragePool <kernel_shape = [1,1], strides = [4,4], auto_pad = "SAME_UPPER"> (x, s, z, t, w)'
    message = refused(node, {"x": whole(np.uint8, 1, 1, 8, 8)}, "uint8[1,1,2,2] y", constants=STORED)
    assert "auto_pad SAME_UPPER needs a padding of [-3, -3], which is negative" in message


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_average_with_gaps_between_windows(mode, last):
    attributes = f'kernel_shape = [1,1], strides = [3,2], auto_pad = "{mode}", channels_last = {last}'
    node = f"y = com.microsoft.QLinearAveragePool <{attributes}> (x, s, z, t, w)"
    x, y = ((1, 5, 6, 3), "uint8[1,2,3,3] y") if last else ((1, 3, 5, 6), "uint8[1,3,2,3] y")
    result = assert_standard(node, {"x": whole(np.uint8, *x)}, y, constants=STORED, atol=1)
    assert "AveragePool" in operators(result)


@pytest.mark.parametrize(("attributes", "sizes"), FORMS.values(), ids=FORMS)
def test_average(attributes, sizes):
    node = f"y = com.microsoft.QLinearAveragePool <{attributes}> (x, s, z, t, w)"
    result = assert_standard(node, {"x": whole(np.uint8, 2, 3, 7, 8)}, f"uint8[2,3,{sizes}] y", constants=STORED, atol=1)
    assert operators(result) == ["DequantizeLinear", "AveragePool", "QuantizeLinear"]


def test_average_of_the_last_axes_but_one():
    node = "y = com.microsoft.QLinearAveragePool <kernel_shape = [2,2], channels_last = 1> (x, s, z, t, w)"
    assert_standard(node, {"x": whole(np.uint8, 2, 7, 8, 3)}, "uint8[2,6,7,3] y", constants=STORED, atol=1)


@pytest.mark.parametrize(("shape", "last"), [((2, 3, 7, 8), 0), ((2, 7, 8, 3), 1)])
def test_average_of_everything(shape, last):
    node = f"y = com.microsoft.QLinearGlobalAveragePool <channels_last = {last}> (x, s, z, t, w)"
    y = (2, 1, 1, 3) if last else (2, 3, 1, 1)
    assert_standard(node, {"x": whole(np.uint8, *shape)}, f"uint8[{','.join(map(str, y))}] y", constants=STORED, atol=1)


@pytest.mark.parametrize("target", [18, 21])
def test_integers_with_the_channels_last_are_moved(target: int) -> None:
    """onnxruntime 1.32, as it is by default, does not load a Transpose of what DequantizeLinear makes of int8 from opset 21 on."""
    stored = {name: value.astype(np.int8) if value.dtype == np.uint8 else value for name, value in STORED.items()}
    node = "y = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, t, w)"
    inputs = {"x": whole(np.int8, 1, 4, 4, 3)}
    result = assert_standard(node, inputs, "int8[1,1,1,3] y", constants=stored, targets=(target,), atol=1)
    assert operators(result) == ["Transpose", "DequantizeLinear", "GlobalAveragePool", "QuantizeLinear", "Transpose"]
    onnxruntime.InferenceSession(result.SerializeToString())
