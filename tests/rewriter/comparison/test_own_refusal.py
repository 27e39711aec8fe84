"""Whether a model runs at all, which decides whether a failure is the model's or a rule's."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.comparison.inputs.samples import Samples
from split_rewrite.rewriter.comparison.own_refusal import refusal_of_model
from split_rewrite.rewriter.storage import read


@pytest.mark.parametrize(
    ("text", "opset", "runtime"),
    [
        pytest.param("g (float[2] x) => (float[2] y) { y = Relu (x) }", 17, "", id="runs"),
        pytest.param(
            "g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization (x, s) }", 17, "onnxruntime", id="at-run-time"
        ),
        pytest.param("g (float[4] x, float[B] s) => (float[4] y) { y = Add (x, s) }", 17, "", id="some-inputs-run"),
        pytest.param("g (float[2] x) => (float[2] y) { y = custom.Foo (x) }", 17, "", id="nobody-knows-it"),
    ],
)
def test_who_refuses_a_model(tmp_path: Path, text: str, opset: int, runtime: str) -> None:
    proto = model(f'<ir_version: 8, opset_import: ["" : {opset}, "custom" : 1]> {text}')
    onnx.save(proto, tmp_path / "m.onnx")
    refusal = refusal_of_model(read(tmp_path / "m.onnx"), Samples(), is_as_in_file=True)
    assert (refusal.runtime if refusal else "") == runtime
    assert not refusal or (refusal.tried.startswith(" on any inputs tried (") and "Scale" in refusal.message)
