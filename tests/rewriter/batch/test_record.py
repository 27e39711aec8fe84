"""The record of a run: what it writes, and what it reads of an earlier run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from split_rewrite.rewriter import ModelReport, SplitRewriteError
from split_rewrite.rewriter.batch.record import Record, check_record
from split_rewrite.rewriter.batch.task import Task

pytestmark = pytest.mark.quick

DOCUMENT = {"schema": "split-rewrite/report", "outcome": "converted"}
TASKS = [Task("a.onnx", "out/a.onnx", "a.onnx"), Task("b.onnx", None, "b.onnx")]


def written(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_report_is_a_line_as_soon_as_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Record(str(path), resumed=False) as record:
        record.add(ModelReport(TASKS[0], DOCUMENT))
        assert written(path) == [DOCUMENT | {"source": "a.onnx", "destination": "out/a.onnx"}]


def test_an_earlier_run_is_found_by_source_and_destination(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Record(str(path), resumed=False) as record:
        record.add(ModelReport(TASKS[0], DOCUMENT))
    with Record(str(path), resumed=True) as record:
        first, second = record.tasks(TASKS)
        assert first.earlier == written(path)[0] and second.earlier is None
        record.add(ModelReport(first, first.earlier or {}))
    assert len(written(path)) == 1, "what was done before is not repeated"


def test_a_line_that_was_cut_off_goes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Record(str(path), resumed=False) as record:
        record.add(ModelReport(TASKS[0], DOCUMENT))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    Record(str(path), resumed=True).__exit__(None, None, None)
    assert path.read_bytes() == whole


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"mine": 1}\n')
    with pytest.raises(SplitRewriteError, match="line 1 is not the report of a model"):
        Record(str(path), resumed=True)
    assert path.read_text() == '{"mine": 1}\n'


def test_a_record_that_cannot_be_written_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(SplitRewriteError, match="the report cannot be written"):
        check_record(str(tmp_path / "none" / "run.jsonl"))
    check_record(str(tmp_path / "run.jsonl"))
    assert list(tmp_path.iterdir()) == []
