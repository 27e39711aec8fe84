"""A worker, and models in files, for tests that run models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

from split_rewrite.rewriter.execution.model_client import Worker

Save = Callable[..., Path]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with pytest.MonkeyPatch.context() as environment, Worker(time_limit=60) as worker:
        environment.delenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", raising=False)  # makes onnxruntime load newer opsets
        yield worker


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(text: str, opset: int = 18, ir_version: int = 10, extra: str = "") -> Path:
        imports = f'"" : {opset}, "ai.onnx.ml" : 3, "local" : 1, "custom" : 1'
        model = onnx.parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{imports}]>\n{text}\n{extra}")
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.onnx"
        onnx.save(model, path)
        return path

    return write
