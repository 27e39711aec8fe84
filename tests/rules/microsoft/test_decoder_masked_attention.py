"""DecoderMaskedMultiHeadAttention of onnxruntime as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import assert_standard, refused
from drawing import normal

NAMES = ("q", "k", "v", "m", "a", "pk", "pv", "n", "w", "i", "b")
KEYS = {"q": normal(2, 1, 8), "k": normal(2, 2, 5, 4), "v": normal(2, 2, 5, 4)}
MASK = {"m": np.array([[1, 1, 0, 1, 1], [0, 0, 0, 1, 0]], np.int32)}


def node_of(given: dict[str, np.ndarray], attributes: str = "", outputs: str = "y") -> str:
    names = [name if name in given else "ABSENT" for name in NAMES]
    while names[-1] == "ABSENT":
        names.pop()
    listed = ", ".join(filter(None, ["num_heads = 2", attributes]))
    return f"{outputs} = com.microsoft.DecoderMaskedMultiHeadAttention <{listed}> ({', '.join(names)})"


def test_keys_of_its_own():
    given = {"q": normal(2, 1, 8), "k": normal(2, 1, 8), "v": normal(2, 1, 8)}
    message = refused(node_of(given), given, "float[2,1,8] y")
    assert "DecoderMaskedMultiHeadAttention keeps its own past and present keys in one buffer" in message


def test_a_bias_that_the_kernel_refuses():
    given = KEYS | {"a": normal(1, 2, 1, 5)}
    assert "has no attention_bias for keys of an encoder" in refused(node_of(given), given, "float[2,1,8] y")


CASES = {
    "plain": (KEYS, "", "y", "float[2,1,8] y"),
    "a scale": (KEYS, "scale = 0.3", "y", "float[2,1,8] y"),
    "a bias": (KEYS | {"b": normal(24)}, "", "y", "float[2,1,8] y"),
    "a mask": (KEYS | MASK, "mask_filter_value = -2.0", "y", "float[2,1,8] y"),
    "scores": (KEYS | MASK, "output_qk = 1", "y, ABSENT, ABSENT, z", "float[2,1,8] y, float[2,2,1,5] z"),
}


@pytest.mark.parametrize(("given", "attributes", "outputs", "declared"), CASES.values(), ids=CASES)
def test_it_computes_the_same(given, attributes, outputs, declared):
    assert_standard(node_of(given, attributes, outputs), given, declared, rtol=1e-5, atol=1e-6, compare="off")
