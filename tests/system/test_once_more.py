"""A result that is converted once more to the same opset does not change."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import convert_version

MODELS = sorted((Path(__file__).resolve().parents[2] / "models").glob("*.onnx"))
TEXTS = {
    "sizes": "g (float[N, 7] x) => (float[N, A] y, float[N, B] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }",
    "lists": "g (float[6] x) => (float[M] y) <int64[3] s = {1, 2, 3}> { q = SplitToSequence (x, s) y = ConcatFromSequence <axis = 0> (q) }",
    "normalized": "g (float[N, 8] x, float[8] s) => (float[N, 8] y) { h = LayerNormalization <axis = -1> (x, s) y = Gelu (h) }",
    "resized": 'g (float[1, 1, H, W] x, int64[4] s) => (float[A, B, C, D] y) { y = Resize <mode = "linear"> (x, , , s) }',
}
TARGETS = [9, 11, 13, 18, 20]


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
