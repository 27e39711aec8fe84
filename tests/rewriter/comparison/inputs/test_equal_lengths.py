"""Lengths that a kernel of onnxruntime takes as equal without looking are equal in all inputs."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from split_rewrite.rewriter.comparison.by_model import compare
from split_rewrite.rewriter.comparison.inputs.equal_lengths import equal_lengths
from split_rewrite.rewriter.execution.model_client import Worker

HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> '
SKIP = "com.microsoft.SkipLayerNormalization"
CASES = {
    "nothing is alike": ("g (float[a,4] x, float[b,4] k) => (float[c,4] y) { y = Add(x, k) }", {}),
    "a value of no known shape": (f"g (float[a,4] x, float[b,4] k, float[4] s) => (y) {{ t = local.F(x) y = {SKIP}(t, k, s) }}", {}),
    "equal names": (f"g (float[a,2,4] x, float[a,2,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {}),
    "names": (f"g (float[a,n,4] x, float[b,m,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {"b": "a", "m": "n"}),
    "no names": (f"g (float[?,2,4] x, float[?,2,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {"k[0]": "x[0]"}),
    "no batch": (f"g (float[a,n,4] x, float[m,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {"m": "n"}),
    "a length here": (f"g (float[3,2,4] x, float[b,2,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {"b": 3}),
    "a length there": (f"g (float[a,2,4] x, float[3,2,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {"a": 3}),
    "one for all": (f"g (float[a,2,4] x, float[1,2,4] k, float[4] s) => (y) {{ y = {SKIP}(x, k, s) }}", {}),
    "behind other nodes": (f"g (float[a,2,4] x, float[b,2,4] k, float[4] s) => (y) {{ t = Relu(k) y = {SKIP}(x, t, s) }}", {"b": "a"}),
    "behind such a node": (
        f"g (float[a,4] x, float[b,4] k, float[c,4] l, float[4] s) => (y) {{ t = {SKIP}(x, k, s) u = Relu(t) y = {SKIP}(u, l, s) }}",
        {"b": "a", "c": "a"},
    ),
    "a chain": (
        f"g (float[a,4] x, float[b,4] k, float[c,4] l, float[4] s) => (y, z) {{ y = {SKIP}(k, l, s) z = {SKIP}(x, k, s) }}",
        {"c": "a", "b": "a"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES)
def test_what_is_equal(text: str, expected: dict[str, str | int]) -> None:
    assert equal_lengths(onnx.parser.parse_model(HEAD + text)) == expected


@pytest.mark.parametrize(
    ("operator", "normalized"),
    [("SkipLayerNormalization", "LayerNormalization"), ("SkipSimplifiedLayerNormalization", "SimplifiedLayerNormalization")],
)
def test_different_batches_are_not_tried(tmp_path: Path, worker: Worker, operator: str, normalized: str) -> None:
    text = "g (float[a,2,4] x, float[b,2,4] k, float[4] s) => (float[a,2,4] y) {{ {} }}"

    def save(nodes: str) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.onnx"
        onnx.save(onnx.parser.parse_model(HEAD + text.format(nodes)), path)
        return path

    before = save(f"y = com.microsoft.{operator}<epsilon = 0.001>(x, k, s)")
    after = save(f"t = Add(x, k) y = {normalized}<epsilon = 0.001>(t, s)")
    found = compare(before, after, worker=worker)
    assert (found.status, found.runtime.split()[0]) == ("equal", "onnxruntime")
    wrong = save(f"t = Sub(x, k) y = {normalized}<epsilon = 0.001>(t, s)")
    assert compare(before, wrong, worker=worker).status == "different"
