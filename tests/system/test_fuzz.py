"""Fuzzing in small: random models through the conversion and back, damaged files through the command line; what was found.

The long form is `tests/fuzz/run.py`.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import helpers
import numpy as np
import onnx
import pytest
from conditioning import is_amplified
from helpers import run_isolated
from trials import FINDINGS, try_file, try_model

from split_rewrite.rewriter import Tolerance
from split_rewrite.rewriter.execution.model_client import Worker

MODELS, FILES = range(80), range(60)
"""Seeds. Hypothesis would draw sizes from the numbers in the code that is loaded, and now and then make a model that is huge."""


@pytest.mark.parametrize("seed", MODELS)
def test_a_random_model_is_converted_right_or_refused(seed: int) -> None:
    verdict = try_model(seed)
    assert verdict.kind not in FINDINGS, verdict.reason
    assert verdict.back not in FINDINGS, verdict.reason


@pytest.mark.parametrize("seed", FILES)
def test_a_damaged_file_is_converted_right_or_refused(seed: int) -> None:
    verdict = run_isolated(try_file, seed, cpu_seconds=60)
    assert verdict.kind not in FINDINGS, verdict.reason


@pytest.mark.parametrize(
    ("constants", "amplified"),
    [("1.0000002, 1", True), ("1, 1.5", False), ("1.0000002, 1.5", False)],
    ids=["of-rounding", "of-more", "of-both"],
)
def test_only_what_the_model_makes_of_last_bits_is_no_finding(tmp_path: Path, constants: str, amplified: bool) -> None:
    text = "g (float[2] x, float z) => (float[2] y, float w) <float[2] c = {%s}> {s = Sub(x, c)\n y = Reciprocal(s) w = Neg(z)}"
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, numbers in zip(paths, ("1, 1", constants), strict=True):
        onnx.save(helpers.model(text % numbers), path)
    inputs = {"x": np.array([1, 3], np.float32), "z": np.array(1, np.float32)}
    with Worker() as worker:
        assert is_amplified(*paths, inputs, Tolerance(inexact=True), "onnxruntime", worker, Random(0)) is amplified


def test_what_a_runtime_computes_roughly_is_no_finding(tmp_path: Path) -> None:
    """onnxruntime transforms these to -1.9999975 and -2.000002."""
    transform = "g (float[1, 3, 1] x) => (int64[1, 3, 2] y) {d = DFT<axis = 1>(x)\n y = Cast<to = 7>(d)}"
    exact = "g (float[1, 3, 1] x) => (int64[1, 3, 2] y) {y = Constant<value = int64[1, 3, 2] {-1, 0, -2, 4, -2, -4}>()}"
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, text in zip(paths, (transform, exact), strict=True):
        onnx.save(helpers.model(text, opset=17), path)
    inputs = {"x": np.array([-1.75, -2.25, 2.75], np.float32).reshape(1, 3, 1)}
    with Worker() as worker:
        assert is_amplified(*paths, inputs, Tolerance(inexact=True), "onnxruntime", worker, Random(0))
