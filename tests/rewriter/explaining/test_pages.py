"""An explanation as a terminal shows it, and the page of all messages."""

from __future__ import annotations

from pathlib import Path

from split_rewrite.rewriter.explaining.explaining import explain
from split_rewrite.rewriter.explaining.pages import as_lines, messages_page
from split_rewrite.rewriter.runtimes.known_messages import known_messages

PAGE = Path(__file__).resolve().parents[3] / "docs" / "runtime_messages.md"


def test_lines() -> None:
    found = explain("No Op registered for Gelu with domain_version of 17")
    assert found is not None
    assert list(as_lines(found)) == [
        "said by     onnxruntime or onnx.checker",
        "line        1: No Op registered for Gelu with domain_version of 17",
        "means       The model says opset 17, which has no Gelu.",
        "helps       split-rewrite --assume-opset 20 -t 17 model.onnx out.onnx",
        "also        If onnxruntime itself made the model, Gelu may be its own operator: --standard replaces it",
        "known from  tried with onnxruntime 1.16.3, 1.20.1 and 1.32.0",
    ]


def test_where_no_command_helps_the_advice_does() -> None:
    found = explain("Error: Duplicate definition of name (y).")
    assert found is not None
    assert "helps       Make the model again" in list(as_lines(found))


def test_the_page_is_what_is_written_from_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == messages_page(), "python -m split_rewrite.rewriter.explaining.pages docs/runtime_messages.md"
    assert page.count("\n| `") == len(known_messages())
