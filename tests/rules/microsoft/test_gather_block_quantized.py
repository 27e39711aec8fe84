"""GatherBlockQuantized as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, refused
from drawing import RANDOM, whole


def text(bits: int, operands: str) -> str:
    stated = f"bits = {bits}, block_size = 16, gather_axis = 0, quantize_axis = 1"
    return f"y = com.microsoft.GatherBlockQuantized <{stated}> ({operands})"


def stored(bits: int, rows: int = 6, blocks: int = 4) -> dict[str, np.ndarray]:
    return {
        "w": whole(np.uint8, rows, blocks * 16 * bits // 8),
        "s": RANDOM.uniform(0.1, 1, (rows, blocks)).astype(np.float32),
        "z": whole(np.uint8, rows, -(-blocks * bits // 8)),
    }


def test_a_table_that_is_an_input():
    constants = stored(4)
    inputs = {"w": constants.pop("w"), "i": np.array([0, 1])}
    assert "rows of a stored matrix" in refused(text(4, "w, i, s"), inputs, "float[2,64] y", constants=constants)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("operands", ["w, i, s", "w, i, s, z"])
@pytest.mark.parametrize("positions", [np.array([5, 0, -1]), np.array([[1, 2], [3, 3]], np.int32), np.array(4)])
def test_it_computes_the_same(positions, operands, bits):
    shape = ",".join(map(str, (*positions.shape, 64)))
    constants = {name: value for name, value in stored(bits).items() if name in operands.split(", ")}
    assert_standard(text(bits, operands), {"i": positions}, f"float[{shape}] y", constants=constants, targets=(21, 18, 13))
