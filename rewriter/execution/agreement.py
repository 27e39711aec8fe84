"""Compares the outputs of two runtimes, which may use other kernels, another order of summation, and other
types for the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_LEAST = 1e-2
"""The magnitude that is assumed at least for an output: where all numbers are smaller, what is left after cancellation is noise."""


class Bounds(NamedTuple):
    """The bounds within which numbers agree: |got - expected| <= rtol * |expected| + atol * the largest
    |expected| of the output.
    """

    rtol: float = 1e-3
    atol: float = 1e-4


USUAL = Bounds()


def disagreement(expected: Sequence[np.ndarray], got: Sequence[np.ndarray], bounds: Bounds = USUAL) -> str:
    """A line that says where two runs differ; "" where they agree. Integers and bools have to be equal.

    Other types for the same numbers (bool as float), and [1] for a scalar, are accepted, because runtimes return these.
    """
    if len(expected) != len(got):
        return f"{len(got)} outputs instead of {len(expected)}"
    for index, pair in enumerate(zip(expected, got, strict=True)):
        if difference := difference_of(*pair, bounds):
            return f"output {index} {difference}"
    return ""


def difference_of(expected: np.ndarray, got: np.ndarray, bounds: Bounds = USUAL) -> str:
    """As `disagreement`, for one output: "is 3 instead of 2 at element 1; 1 of 2 elements differ"."""
    if expected.shape != got.shape and not (expected.size == got.size == 1):
        return f"has the shape {list(got.shape)} instead of {list(expected.shape)}"
    numbers, others = (np.asarray(value, np.float64).reshape(-1) for value in (expected, got))
    wrong = ~_agree(numbers, others, bounds if expected.dtype.kind == "f" else Bounds(0, 0))
    if not wrong.any():
        return ""
    place = int(wrong.argmax())
    more = "" if wrong.size == 1 else f"; {wrong.sum():,} of {wrong.size:,} elements differ"
    return f"is {others[place]:.6g} instead of {numbers[place]:.6g} at element {place}{more}"


def _agree(numbers: np.ndarray, others: np.ndarray, bounds: Bounds) -> np.ndarray:
    largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=_LEAST))
    return np.isclose(others, numbers, rtol=bounds.rtol, atol=bounds.atol * largest, equal_nan=True)
