"""A sample of `fuzz/wild`: models that onnxruntime loads are not turned away, whatever onnx.checker says of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import wild
from wild_models import ROWS

from split_rewrite.rewriter.checks.validity import checker_failure
from split_rewrite.rewriter.execution.model_client import Worker

EACH = 6
"""One row of so many is taken."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(20.0) as worker:
        yield worker


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("target", [9, 17])
def test_what_loads_is_not_turned_away(worker: Worker, tmp_path: Path, kind: str, target: int) -> None:
    path = tmp_path / "model.onnx"
    for row in ROWS[kind][target % EACH :: EACH]:
        path.write_bytes(wild.built(row).SerializeToString())
        if wild.loads(worker, path):
            accepted = not checker_failure(path.read_bytes(), full=True)
            end = wild.ending(worker, path, target, accepted)
            assert end.kind != "turned away", (row.text, end.reason)
