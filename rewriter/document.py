"""The head of the document that reports a conversion to programs (docs/report.md): what it has in common with that of an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

SCHEMA = "split-rewrite/report"
SCHEMA_VERSION = 1

Document = dict[str, Any]

OUTCOMES = {1: "not convertible", 2: "unusable", 3: "failed a check"}
"""The outcome of a conversion that ended with an error of this package, by its exit status."""


def outcome_of(exit_status: int) -> str:
    """The outcome of a conversion that ended with an error of this package."""
    return OUTCOMES.get(exit_status, "failed")


def head(
    outcome: str,
    exit_status: int,
    message: str,
    source: Mapping[str, Any],
    output: Mapping[str, Any] | None,
    blockers: Iterable[Document],
) -> Document:
    """The fields that every document has. `source` and `output` describe the files, as in docs/report.md."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "tool": {"split-rewrite": version("split-rewrite"), "onnx": version("onnx")},
        "outcome": outcome,
        "exit_status": exit_status,
        "message": message,
        "input": dict(source),
        "output": None if output is None else dict(output),
        "blockers": list(blockers),
    }


def unread(path: str) -> Document:
    """The description of a file that was not read for the report, or of a model in memory, whose path is ""."""
    return {"path": path, "bytes": None, "sha256": None}
