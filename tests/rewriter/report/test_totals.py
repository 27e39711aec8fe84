"""The totals of a run, and its summary on the terminal."""

from __future__ import annotations

import pytest
from runs import blocker, entry, run

from split_rewrite.rewriter.report.totals import Totals, table

pytestmark = pytest.mark.quick


def test_the_worst_status_counts() -> None:
    assert run().exit_status == 3
    assert Totals().exit_status == 0


def test_outcomes_and_order() -> None:
    totals = run()
    assert totals.outcomes == {"converted": 2, "not convertible": 2, "unusable": 1, "failed": 1}
    assert [each.number for each in totals.in_order] == [1, 2, 3, 4, 5, 6]


def test_obstacles_are_the_same_whatever_the_names_and_a_model_counts_once() -> None:
    split, gelu = run().obstacles()
    assert split.text == "Split 18→17: the sizes of '…' are unknown"
    assert ([each.number for each in split.models], split.freed) == ([4, 5], 1)
    assert (gelu.example.op_type, len(gelu.models), gelu.freed) == ("Gelu", 1, 0)


def test_the_reason_names_the_model_once() -> None:
    _, _, unusable, split, _, crash = run().in_order
    assert unusable.reason == "zoo/bad.onnx: is no <model>\x07"
    assert crash.reason == "zoo/crash.onnx: crashed"
    assert split.reason == f"zoo/split.onnx: {blocker('a')} (and 1 more)"
    assert entry(1, "m.onnx").reason == ""


def test_the_summary_of_a_run() -> None:
    lines = list(table(run(), 2.0, ", 2 processes at most"))
    assert lines[0] == "6 models in 2.0 s, 3.0 a second, 2 processes at most"
    assert lines[1:6] == [
        "  converted              2",
        "  not convertible        2",
        "  unusable               1",
        "  failed                 1",
        "  done before            1",
    ]
    assert lines[7].split() == ["2", "1", "Split", "18→17:", "the", "sizes", "of", "'…'", "are", "unknown"]


def test_many_obstacles_are_cut() -> None:
    blockers = tuple(blocker("a", reason=f"reason {chr(97 + number)}") for number in range(25))
    lines = list(table(Totals([entry(1, "m.onnx", "not convertible", 1, blockers=blockers)]), 0.0, ""))
    assert lines[0].startswith("1 model in 0.0 s")
    assert lines[-1] == "  … and 5 more; --report FILE.html shows all"
