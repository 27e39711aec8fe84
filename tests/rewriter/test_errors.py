"""Texts of errors, and the exit status of each. The messages of the command line are in tests/system/errors/."""

from __future__ import annotations

import errno

import pytest

from split_rewrite.rewriter import ArgumentError, Blocker, CheckError, CompareError, InvalidModelError, UnconvertibleError
from split_rewrite.rewriter.errors import LONGEST_NAME, MOST_NAMES, listed, shortened, status_and_line

pytestmark = pytest.mark.quick

STATUSES = [
    (UnconvertibleError([]), 1),
    (ArgumentError("a"), 2),
    (InvalidModelError("a"), 2),
    (CheckError("a"), 3),
    (CompareError("a"), 3),
    (KeyError("a"), 3),
]


def test_long_texts_are_cut() -> None:
    assert shortened("a" * LONGEST_NAME) == "a" * LONGEST_NAME
    assert shortened("a" * (LONGEST_NAME + 1)) == "a" * (LONGEST_NAME - 1) + "…"


def test_many_names_are_counted() -> None:
    assert listed([]) == "none"
    assert listed(["a", 2]) == "a, 2"
    assert listed(["a"] * (MOST_NAMES + 1)) == ", ".join(["a"] * MOST_NAMES) + f", … ({MOST_NAMES + 1} in all)"


@pytest.mark.parametrize(("error", "status"), STATUSES)
def test_each_error_has_its_status(error: Exception, status: int) -> None:
    assert status_and_line(error)[0] == status


def test_errors_of_the_system_are_told_in_its_words() -> None:
    assert status_and_line(MemoryError()) == (2, "out of memory")
    assert status_and_line(RecursionError()) == (2, "the model is nested too deeply")
    assert status_and_line(OSError(errno.EACCES, "Permission denied", "m.onnx")) == (2, "m.onnx: Permission denied")
    assert status_and_line(ZeroDivisionError("x")) == (3, "ZeroDivisionError: x")


def test_a_blocker_is_one_line() -> None:
    blocker = Blocker("Split", "cut", "main graph", "18→17", "it cannot", "do this")
    assert str(blocker) == "Split 'cut' (main graph) 18→17: it cannot. Hint: do this"
