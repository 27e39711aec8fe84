"""How a conversion ended, as all reports say it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from split_rewrite.rewriter import Blocker, CheckError, InvalidModelError, Report, UnconvertibleError
from split_rewrite.rewriter.report.finished import Finished, ModelFile

pytestmark = pytest.mark.quick

HERE, THERE = ModelFile("in.onnx", "/none/in.onnx"), ModelFile("out.onnx", "/none/out.onnx")
BLOCKER = Blocker("Split", "cut", "main graph", "18→17", "it cannot", "")
ERRORS = [
    (UnconvertibleError([BLOCKER]), "not convertible", 1),
    (InvalidModelError("no model"), "unusable", 2),
    (CheckError("wrong"), "failed a check", 3),
    (MemoryError(), "failed", 2),
    (ZeroDivisionError("bug"), "failed", 3),
]


def report(**facts) -> Report:
    return Report(18, 13, 8, 8, **facts)


@pytest.mark.parametrize(("error", "outcome", "status"), ERRORS)
def test_an_error_is_an_outcome_and_a_status_and_nothing_was_written(error: Exception, outcome: str, status: int) -> None:
    finished = Finished.of(HERE, THERE, None, error)
    assert (finished.outcome, finished.exit_status, finished.written) == (outcome, status, None)


def test_a_result_is_written_and_a_dry_run_is_not() -> None:
    done, tried = Finished.of(HERE, THERE, report(), None), Finished.of(HERE, None, report(), None)
    assert (done.outcome, done.exit_status, done.written) == ("converted", 0, THERE)
    assert (tried.outcome, tried.exit_status, tried.written) == ("convertible", 0, None)


def test_blockers_are_those_of_the_dry_run_or_of_the_error() -> None:
    tried = Finished.of(HERE, None, report(blockers=[BLOCKER]), None)
    assert (tried.outcome, tried.exit_status, list(tried.blockers)) == ("not convertible", 1, [BLOCKER])
    assert list(Finished.of(HERE, THERE, None, ERRORS[0][0]).blockers) == [BLOCKER]


def test_facts_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"weights")
    assert ModelFile("m", str(path)).facts() == {"path": "m", "bytes": 7, "sha256": hashlib.sha256(b"weights").hexdigest()}
    assert HERE.facts() == {"path": "in.onnx", "bytes": None, "sha256": None}
