"""RotaryEmbedding of onnxruntime as ONNX's own operators, beside onnxruntime's kernel."""

from __future__ import annotations

import numpy as np
import pytest
from contrib import STANDARD, assert_standard, contrib_model, refused
from drawing import normal
from helpers import convert_version, known, run


def test_a_scaled_rotation():
    node = "y = com.microsoft.RotaryEmbedding <scale = 2.0> (x, p, c, s)"
    inputs = {"x": normal(1, 2, 3, 4), "p": np.arange(3)[None], "c": normal(8, 2), "s": normal(8, 2)}
    assert "RotaryEmbedding with scale or is_packed_batching has no form in ONNX" in refused(node, inputs, "float[1,2,3,4] y")


@pytest.mark.parametrize("attributes", ["num_heads = 2, rotary_embedding_dim = 4", "interleaved = 2"])
def test_a_rotation_that_its_table_does_not_fit(attributes):
    inputs = {"x": normal(2, 2, 3, 8), "p": np.arange(3)[None].repeat(2, 0), "c": normal(16, 4), "s": normal(16, 4)}
    node = f"y = com.microsoft.RotaryEmbedding <{attributes}> (x, p, c, s)"
    assert "RotaryEmbedding rotates a part of each head" in refused(node, inputs, "float[2,2,3,8] y")


CASES = {
    "flat": (normal(2, 3, 8), "", 2),
    "flat, heads": (normal(2, 3, 8), "num_heads = 2", 2),
    "flat, a part": (normal(2, 3, 16), "num_heads = 2, rotary_embedding_dim = 4", 2),
    "heads": (normal(2, 2, 3, 8), "", 4),
    "heads, a part": (normal(2, 2, 3, 8), "num_heads = 2, rotary_embedding_dim = 4", 2),
}


@pytest.mark.parametrize(("x", "attributes", "width"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("positions", [np.array([[0, 1, 2], [3, 1, 4]]), np.array([4])], ids=["each", "offset"])
def test_rotation(x, attributes, width, interleaved, positions):
    inputs = {"x": x, "p": positions, "c": normal(8, width), "s": normal(8, width)}
    listed = ", ".join(filter(None, [f"interleaved = {interleaved}", attributes]))
    node = f"y = com.microsoft.RotaryEmbedding <{listed}> (x, p, c, s)"
    declared = f"float[{','.join(map(str, x.shape))}] y"
    targets = (*known(23), 15, 9) if known(23) else ()
    assert_standard(node, inputs, declared, opset=21, targets=targets, rtol=1e-5, atol=1e-6, compare="off")


@pytest.mark.parametrize("target", (*known(23), 13) if known(23) else ())
def test_an_offset_for_sequences_of_run_time(target):
    inputs = {"x": normal(2, 3, 8), "p": np.array([4]), "c": normal(8, 2), "s": normal(8, 2)}
    proto = contrib_model("y = com.microsoft.RotaryEmbedding (x, p, c, s)", inputs, "float[b,t,8] y")
    for axis, symbol in enumerate("bt"):
        proto.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = symbol
    result = convert_version(proto, target, options=STANDARD).model
    np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-6)


def test_float16():
    inputs = {name: normal(*shape).astype(np.float16) for name, shape in (("x", (2, 3, 8)), ("c", (8, 2)), ("s", (8, 2)))}
    inputs = {"x": inputs["x"], "p": np.array([4]), "c": inputs["c"], "s": inputs["s"]}
    targets = (*known(23), 13) if known(23) else ()
    node = "y = com.microsoft.RotaryEmbedding (x, p, c, s)"
    assert_standard(node, inputs, "float16[2,3,8] y", targets=targets, rtol=4e-3, atol=4e-3, compare="off")
