"""The program on an emulated processor, which PROCESSOR names: Haswell, whose kernels of onnxruntime saturate, or another.

`.ci/emulate` makes the environment for it: a Python that runs on such a processor, with all its children.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import Ended, command_line, model

from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.execution.exact_products import are_exact

SATURATES = os.environ["PROCESSOR"] == "Haswell"
WEIGHTS = np.random.default_rng(3).integers(-128, 128, (64, 8)).astype(np.int8)
DYNAMIC = (
    f"g (float[4,64] x) => (float[4,8] y) <int8[64,8] w = {{{', '.join(map(str, WEIGHTS.ravel()))}}}, float s = {{0.01}}> {{ "
    "q, t, z = DynamicQuantizeLinear (x) p = MatMulInteger (q, w, z) f = Cast<to = 1> (p) u = Mul (t, s) y = Mul (f, u) }"
)
CONVOLUTION = (
    "g (uint8[2,6,7,8] x, int8[4,3,2,3] w, int32[4] b) => (uint8[2,4,3,8] y) <float s = {0.03}, uint8 p = {120}, "
    "float[4] t = {0.01, 0.02, 0.005, 0.03}, int8[4] q = {0, 0, 0, 0}, float u = {0.11}, uint8 r = {100}> "
    "{ y = QLinearConv <group=2, strides=[2,1], pads=[0,1,0,1]> (x, s, p, w, t, q, u, r, b) }"
)
WARNING = "wrongly, before and after the conversion: without VNNI"


def convert(text: str, target: int, folder: Path, *more: str) -> Ended:
    """Convert `text` with a budget that an emulator keeps to, however slow."""
    onnx.save(model(text, 13), folder / "in.onnx")
    files = (str(folder / "in.onnx"), str(folder / "out.onnx"))
    return command_line("-t", str(target), *files, "--compare-budget", "600", *more)


def test_kernels_of_this_processor() -> None:
    assert are_exact() is not SATURATES


@pytest.mark.parametrize("text", [DYNAMIC, CONVOLUTION], ids=["dynamic", "convolution"])
@pytest.mark.parametrize("target", [9, 18])
def test_a_right_result_is_equal_and_saturation_is_a_warning(text: str, target: int, tmp_path: Path) -> None:
    ended = convert(text, target, tmp_path)
    assert ended.status == 0, ended.err
    assert "comparison  equal, exact" in ended.out
    assert (WARNING in ended.err) is SATURATES


def test_what_saturates_in_onnxruntime_is_not_blamed_on_the_result(tmp_path: Path) -> None:
    ended = convert(DYNAMIC, 18, tmp_path, "--verify-with", "onnxruntime", "--compare", "off")
    assert ended.status == 0, ended.err
    assert (WARNING in ended.err) is SATURATES


def test_what_saturates_in_the_result_alone_is_a_warning(tmp_path: Path) -> None:
    text = (
        f"g (uint8[1,4] x) => (uint8[1,5] y) <float s = {{0.02}}, uint8 z = {{0}}, int8 q = {{0}}, float t = {{0.4}}, "
        f"int8[4,5] w = {{{', '.join(['127'] * 20)}}}> {{ "
        "a = DequantizeLinear (x, s, z) b = DequantizeLinear (w, s, q) c = MatMul (a, b) y = QuantizeLinear (c, t, z) }"
    )
    ended = convert(text, 13, tmp_path, "--quantization", "qoperator")
    assert ended.status == 0, ended.err
    assert ("wrongly, after the conversion alone" in ended.err) is SATURATES


def test_weights_of_seven_bits_are_no_warning(tmp_path: Path) -> None:
    narrow = DYNAMIC.replace(", ".join(map(str, WEIGHTS.ravel())), ", ".join(map(str, (WEIGHTS // 2).ravel())))
    ended = convert(narrow, 9, tmp_path)
    assert (ended.status, ended.err) == (0, "")


def test_a_wrong_weight_is_found(tmp_path: Path) -> None:
    proto, paths = model(DYNAMIC, 13), (tmp_path / "before.onnx", tmp_path / "after.onnx")
    onnx.save(proto, paths[0])
    damaged = WEIGHTS.copy()
    damaged[5, 3] ^= 1
    next(tensor for tensor in proto.graph.initializer if tensor.name == "w").CopyFrom(onnx.numpy_helper.from_array(damaged, "w"))
    onnx.save(proto, paths[1])
    assert compare(*paths).status == "different"
