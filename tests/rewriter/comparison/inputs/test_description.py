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
