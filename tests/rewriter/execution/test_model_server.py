"""The child that runs models holds one at a time, and answers what it cannot read with a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from split_rewrite.rewriter.comparison.inputs.description import Describe
from split_rewrite.rewriter.execution.messages import Failure, ForgetRequest, Outputs, RunRequest
from split_rewrite.rewriter.execution.model_server import _Server

RELU = "g (float[n] x) => (float[n] y) { y = Relu(x) }"
SAMPLE = ({"x": np.ones(2, np.float32)},)


def test_a_model_stays_loaded_until_another_one_is_run(save: Callable[..., Path]) -> None:
    server, path = _Server(), str(save(RELU))
    (answer,) = server.answer(RunRequest(1, path, "onnxruntime", SAMPLE))  # type: ignore[misc]
    assert isinstance(answer, Outputs)
    first = server._loaded
    server.answer(RunRequest(1, path, "onnxruntime", SAMPLE))
    assert server._loaded is first
    server.answer(RunRequest(2, path, "onnxruntime", SAMPLE))
    assert server._loaded is not first
    server.answer(ForgetRequest())
    assert server._loaded is None


def test_a_file_that_is_no_model_is_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    answer = _Server().answer(Describe(str(path)))
    assert isinstance(answer, Failure) and answer.kind == "invalid"
