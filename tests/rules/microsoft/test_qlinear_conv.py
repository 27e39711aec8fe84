"""QLinearConv of onnxruntime as ONNX's own, beside its kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, operators
from drawing import whole

STORED = {
    "s": np.asarray(np.float32(0.02)),
    "z": np.asarray(np.uint8(7)),
    "w": whole(np.uint8, 6, 4, 3, 3),
    "t": np.asarray(np.float32(0.01)),
    "u": np.asarray(np.uint8(3)),
    "v": np.asarray(np.float32(3.1)),
    "q": np.asarray(np.uint8(100)),
    "b": np.arange(6, dtype=np.int32) * 100,
}


@pytest.mark.parametrize("bias", [", b", ""])
@pytest.mark.parametrize("last", [0, 1])
def test_it_computes_the_same(last, bias):
    x = whole(np.uint8, 2, 7, 8, 4) if last else whole(np.uint8, 2, 4, 7, 8)
    stored = {name: value for name, value in STORED.items() if name != "b" or bias}
    node = f"y = com.microsoft.QLinearConv <channels_last = {last}, pads = [1,1,1,1]> (x, s, z, w, t, u, v, q{bias})"
    result = assert_standard(node, {"x": x}, f"uint8[{'2,7,8,6' if last else '2,6,7,8'}] y", constants=stored, targets=(18, 13, 10))
    assert operators(result) == (["Transpose", "QLinearConv", "Transpose"] if last else ["QLinearConv"])
