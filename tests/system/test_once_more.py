"""A result that is converted once more to the same opset does not change."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import Options, convert_version

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*.onnx"))
TEXTS = {
    "sizes": "g (float[N, 7] x) => (float[N, A] y, float[N, B] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }",
    "lists": "g (float[6] x) => (float[M] y) <int64[3] s = {1, 2, 3}> { q = SplitToSequence (x, s) y = ConcatFromSequence <axis = 0> (q) }",
    "normalized": "g (float[N, 8] x, float[8] s) => (float[N, 8] y) { h = LayerNormalization <axis = -1> (x, s) y = Gelu (h) }",
    "resized": 'g (float[1, 1, H, W] x, int64[4] s) => (float[A, B, C, D] y) { y = Resize <mode = "linear"> (x, , , s) }',
}
TARGETS = [9, 11, 13, 18, 20]
RUNTIMES = ["onnxruntime-1.16", "openvino-2023.3", "opencv-4.12", "mnn-3.6", "tensorrt-8.6"]
COPIED = """g (float[2, 3] x) => (float[2, 3] y) {
    c = Constant <value = float[3] {1, 2, 3}> () d = CastLike (c, x) e = Add (d, d) y = Add (x, e)
}"""
"""What is added is known only once CastLike has become a Cast."""


def assert_settled(proto: onnx.ModelProto, target: int) -> None:
    once = convert_version(proto, target, compare="off").model
    twice = convert_version(once, target, compare="off").model
    assert twice.SerializeToString(deterministic=True) == once.SerializeToString(deterministic=True)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_small_model(text: str, target: int) -> None:
    assert_settled(model(text, 20), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_real_model(path: Path, target: int) -> None:
    assert_settled(onnx.load(path), target)


def assert_settled_for(proto: onnx.ModelProto, runtime: str) -> None:
    options = Options(for_runtimes=(runtime,))
    once = convert_version(proto, options=options, compare="off").model
    twice = convert_version(once, options=options, compare="off").model
    assert twice.SerializeToString(deterministic=True) == once.SerializeToString(deterministic=True)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_constants_of_a_type_that_an_input_has(runtime: str) -> None:
    assert_settled_for(model(COPIED, 20), runtime)


@pytest.mark.parametrize("runtime", [name for name in RUNTIMES if not name.startswith("opencv")])  # refuses open shapes
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_real_model_for_a_runtime(path: Path, runtime: str) -> None:
    assert_settled_for(onnx.load(path), runtime)
