"""Verdicts: reasons and hints of runtimes that cannot decide, and the tolerances of outputs."""

from __future__ import annotations

from split_rewrite.rewriter.comparison.judging.differences import OutputComparison
from split_rewrite.rewriter.comparison.verdicts import Comparison, Inconclusive, joined, not_compared


def test_all_reasons_are_given_and_the_first_hint() -> None:
    found = not_compared([Inconclusive("a lacks it"), Inconclusive("b fails", hint="try c"), Inconclusive("d", hint="try e")])
    assert (found.status, found.reason) == ("not compared", "a lacks it; b fails; d. Hint: try c")


def test_reasons_that_are_empty_are_left_out() -> None:
    assert joined("", "a", "", "b") == "a; b"


def test_the_largest_tolerance_of_any_output_counts() -> None:
    outputs = [
        OutputComparison(name, "float32", (), 0.0, 0.0, True, "", rtol, atol) for name, rtol, atol in (("a", 1, 0), ("b", 0, 2))
    ]
    found = Comparison("equal", outputs=tuple(outputs))
    assert (found.rtol, found.atol) == (1, 2)
    assert (Comparison("equal").rtol, Comparison("equal").atol) == (0, 0)
