"""Outputs over all samples: the worst one counts, and what proves nothing is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from split_rewrite.rewriter.comparison.judging.outputs import are_equal, compare_outputs, unjudged
from split_rewrite.rewriter.comparison.judging.tolerance import EXACT, Tolerance
from split_rewrite.rewriter.comparison.runs import Run
from split_rewrite.rewriter.execution.messages import Outputs


def outputs(*numbers: float) -> Outputs:
    return Outputs(("y",), (np.array(numbers, np.float32),), "test 1")


def runs(*of: Outputs) -> list[Run]:
    return [Run({"x": np.array([float(number)])}, one) for number, one in enumerate(of)]


def test_the_worst_sample_counts() -> None:
    original = runs(outputs(1, 2), outputs(1, 2))
    (found,) = compare_outputs(original, [outputs(1, 2), outputs(1, 4)], EXACT)
    assert (found.equal, found.max_abs) == (False, 2.0)
    assert are_equal(original, [outputs(1, 2)] * 2, EXACT)


@pytest.mark.parametrize(
    ("decides", "sums", "result", "equal"),
    [
        ("usual", True, 0.0022, True),
        ("usual", True, 0.02, False),
        ("usual", False, 0.0022, False),
        ("", True, 0.0022, False),
    ],
    ids=["cancelled", "too-far", "no-sums", "plain-sample"],
)
def test_terms_that_cancel_out(decides: Literal["", "usual"], sums: bool, result: float, equal: bool) -> None:
    """In a sample of many magnitudes, 2e-4 is less than 16 last bits of a term of 900 (1.7e-3)."""
    run = Run({"x": np.array([900.0, 0.002], np.float32)}, outputs(0.002), decides)
    assert are_equal([run], [outputs(result)], Tolerance(inexact=True, sums=sums)) is equal


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([(np.nan,), (np.nan,)], "output 'y' is NaN throughout"),
        ([(np.nan,), (1.0,)], ""),
        ([(), ()], "output 'y' is empty"),
        ([(1.0,)] * 6, "output 'y' is always the same"),
        ([(1.0,)] * 5, ""),
    ],
    ids=["nan", "a-number", "empty", "constant", "few-samples"],
)
def test_what_proves_nothing(save: Callable[..., Path], values: list[tuple[float, ...]], said: str) -> None:
    original = save("g (float[n] x) => (float[m] y) { y = NonZero(x) }")
    assert unjudged(runs(*(outputs(*of) for of in values)), {"y": frozenset("x")}, original) == said
