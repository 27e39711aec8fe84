"""What a comparison reads of a model before it runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx

from split_rewrite.rewriter.comparison.inputs.description import Description, description_of
from split_rewrite.rewriter.execution.model_client import Worker

TWO_INPUTS = "g (float[n,4] x, int64[n] i, float[1] w = {2.0}) => (float[n,4] y) { y = Mul(x, w) }"
Save = Callable[..., Path]


def test_worker_describes(save: Save, worker: Worker) -> None:
    described = description_of(worker, save(TWO_INPUTS))
    assert isinstance(described, Description)
    assert [onnx.ValueInfoProto.FromString(data).name for data in described.required] == ["x", "i"]
    assert [onnx.ValueInfoProto.FromString(data).name for data in described.overridable] == ["w"]
    assert described.outputs == ("y",)


def test_what_a_function_does_with_an_input_is_known(tmp_path: Path, worker: Worker) -> None:
    """A shift by more than the width has no meaning, inside a function as outside."""
    text = (
        '<ir_version: 8, opset_import: ["" : 11, "local" : 1]> g (uint8[N] x, uint8[N] z) => (uint8[N] y) { y = local.F (x, z) } '
        '<domain: "local", opset_import: ["" : 11]> F (x, z) => (y) { y = BitShift <direction = "RIGHT"> (x, z) }'
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    description = description_of(worker, tmp_path / "m.onnx")
    assert isinstance(description, Description)
    assert description.readings.by_input["z"].shifts
    assert not description.readings.by_input["x"].shifts
