"""When two runtimes agree: floats nearly, integers exactly, whatever type a runtime gives them in."""

from __future__ import annotations

import numpy as np

from split_rewrite.rewriter.execution.agreement import Bounds, difference_of, disagreement


def test_differences_are_said_by_place() -> None:
    one = np.array([[1.0, 2.0]])
    assert disagreement([one], [one.astype(np.float32)]) == ""
    assert disagreement([one], [one.T]) == "output 0 has the shape [2, 1] instead of [1, 2]"
    assert disagreement([one], [np.array([[1.0, 3.0]])]) == "output 0 is 3 instead of 2 at element 1; 1 of 2 elements differ"
    assert disagreement([one, one], [one]) == "1 outputs instead of 2"


def test_integers_and_bools_are_equal_or_wrong() -> None:
    assert disagreement([np.array(True)], [np.array([1.0])]) == ""
    assert difference_of(np.array([5000]), np.array([5001.0])) == "is 5001 instead of 5000 at element 0"
    assert difference_of(np.array([True]), np.array([-1.0])) == "is -1 instead of 1 at element 0"


def test_small_outputs_are_judged_by_their_own_size() -> None:
    """A Softmax over many classes gives nothing but small numbers."""
    expected, got = np.full(1000, 1e-3), np.full(1000, 1e-3)
    got[7] = 1.05e-3
    assert difference_of(expected, got).startswith("is 0.00105 instead of 0.001 at element 7")
    assert difference_of(np.zeros(2), np.array([0, 5e-7])) == ""


def test_what_is_no_number_has_to_be_the_same() -> None:
    odd = np.array([np.nan, np.inf, 1.0])
    assert difference_of(odd, odd.copy()) == ""
    assert difference_of(odd, np.array([np.nan, -np.inf, 1.0])).startswith("is -inf instead of inf at element 1")


def test_bounds_are_relative_to_the_element_and_to_the_largest() -> None:
    expected = np.array([100.0, 0.0])
    assert difference_of(expected, np.array([100.0, 0.009])) == ""
    assert difference_of(expected, np.array([100.0, 0.009]), Bounds(0, 1e-5)) != ""
