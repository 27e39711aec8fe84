"""One model of a run: whatever happens is part of its report."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from helpers import model
from zoo import GOOD

from split_rewrite.rewriter.batch import conversion
from split_rewrite.rewriter.batch.conversion import convert_model, failed
from split_rewrite.rewriter.batch.task import Request, Task


@pytest.fixture
def task(tmp_path: Path) -> Task:
    onnx.save(model(GOOD), tmp_path / "m.onnx")
    return Task(str(tmp_path / "m.onnx"), str(tmp_path / "out" / "m.onnx"), "m.onnx")


def test_an_exception_is_a_report(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(conversion, "convert_path", fail)
    document = convert_model(task, Request(5)).document
    assert document is not None and (document["outcome"], document["message"], document["exit_status"]) == (
        "failed",
        "out of memory",
        2,
    )


def test_a_page_and_digests_are_made_on_request(task: Task) -> None:
    plain, rich = (convert_model(task, request) for request in (Request(5), Request(5, with_page=True, with_digests=True)))
    assert plain.page is None and rich.page is not None and rich.page.startswith("<!DOCTYPE html>")
    assert plain.document is not None and "digests" not in plain.document
    assert rich.document is not None and all(rich.document["digests"].values())


def test_what_was_done_before_is_not_done_again(task: Task) -> None:
    request = Request(5, with_digests=True)
    document = convert_model(task, request).document
    assert convert_model(task._replace(earlier=document), request).document is None
    assert convert_model(task._replace(earlier=document), request._replace(target_opset=6)).document is not None


def test_what_cannot_be_found_is_told(task: Task) -> None:
    document = convert_model(task._replace(problem="zoo: cannot be read"), Request(5)).document
    assert document is not None and (document["message"], document["exit_status"]) == ("zoo: cannot be read", 2)
    assert failed(task, RuntimeError("gone"), 3)["outcome"] == "failed"
