"""Runs of many models, for the tests of reports on them."""

from __future__ import annotations

from typing import Any

from split_rewrite.rewriter import Blocker
from split_rewrite.rewriter.report.totals import Entry, Totals


def blocker(name: str, op_type: str = "Split", reason: str = "the sizes of '{}' are unknown") -> Blocker:
    return Blocker(op_type, name, "main graph", "18→17", reason.format(name), "")


def entry(number: int, source: str, outcome: str = "converted", status: int = 0, **facts: Any) -> Entry:
    given = {"message": "", "seconds": 0.5, "was_done_before": False, "blockers": (), "warnings": (), "is_at_uri": False} | facts
    return Entry(number, source, None, outcome, status, **given)


def run() -> Totals:
    """Six models, one for each way in which a model can end."""
    return Totals(
        [
            entry(3, "zoo/bad.onnx", "unusable", 2, message="zoo/bad.onnx: is no <model>\x07"),
            entry(1, "zoo/good one.onnx"),
            entry(2, "zoo/warned.onnx", warnings=("it is odd",)),
            entry(4, "zoo/split.onnx", "not convertible", 1, blockers=(blocker("a"), blocker("b"))),
            entry(5, "s3://zoo/two.onnx", "not convertible", 1, blockers=(blocker("c"), blocker("d", "Gelu")), is_at_uri=True),
            entry(6, "zoo/crash.onnx", "failed", 3, message="crashed", was_done_before=True),
        ]
    )
