"""Operators of onnxruntime that are refused with a sentence."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from contrib import contrib_model, refused
from drawing import normal
from helpers import convert_version

from split_rewrite.rewriter import Options, UnconvertibleError


@pytest.mark.parametrize("operator", ["GreedySearch", "Sampling"])
def test_a_loop_of_generation(operator):
    whole = {"x": np.array([[1, 2]], np.int32), "n": np.array([8], np.int32)}
    node = f"y = com.microsoft.{operator} <eos_token_id = 1, pad_token_id = 0, model_type = 0> (x, n)"
    proto = contrib_model(node, whole, "int32[1,8] y")
    decoder = onnx.parser.parse_graph("decoder (int32[1,t] i) => (int32[1,t] o) { o = Identity (i) }")
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("decoder", decoder))
    with pytest.raises(UnconvertibleError, match=f"{operator} is a whole loop of text generation around a decoder"):
        convert_version(proto, 13, options=Options(standard=True))


def test_a_step_of_decoding():
    given = {name: np.arange(4) for name in "sc"} | {"p": np.array(0)}
    node = "y, i = com.microsoft.BifurcationDetector (s, c, p)"
    assert "BifurcationDetector is a step of aggressive decoding" in refused(node, given, "int64[n] y, int64 i")


def test_tokens_without_padding():
    given = {"x": normal(3, 8), "w": normal(8, 24), "b": normal(24), "o": np.array([[0, 1, 2]], np.int32)}
    given["n"] = np.array([0, 3], np.int32)
    node = "y = com.microsoft.PackedAttention <num_heads = 2> (x, w, b, o, n)"
    assert "PackedAttention takes all tokens without their padding, and runs on CUDA only" in refused(node, given, "float[3,8] y")


def test_a_buffer_of_past_and_present():
    given = {"x": normal(2, 1, 8), "w": normal(8, 24), "b": normal(24), "p": normal(2, 2, 2, 4, 4), "n": np.array(3, np.int32)}
    node = "y, z = com.microsoft.DecoderMaskedSelfAttention <num_heads = 2> (x, w, b, ABSENT, p, ABSENT, n)"
    message = refused(node, given, "float[2,1,8] y, float[2,2,2,4,4] z")
    assert "DecoderMaskedSelfAttention keeps past and present in one buffer" in message


def test_inverses():
    assert "ONNX has no operator for the inverse of a matrix" in refused(
        "y = com.microsoft.Inverse (x)", {"x": normal(3, 3)}, "float[3,3] y"
    )
    node = "y = com.microsoft.Irfft <signal_ndim = 1, normalized = 0, onesided = 1> (x)"
    assert "Irfft has no kernel for CPUs, so that nothing could judge an equivalent" in refused(
        node, {"x": normal(3, 2)}, "float[4] y"
    )
