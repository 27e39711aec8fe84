"""What counts as equal, and how differences are measured; expected numbers are worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from split_rewrite.rewriter.comparison.judging.differences import compare_values, dtype_name, excused, is_nan_throughout
from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance

NAN, INF = math.nan, math.inf
VALUES = {
    "minus zero": ([0.0], [-0.0], "float32", True, 0.0),
    "NaN in the same place": ([1.0, NAN], [1.0, NAN], "float32", True, 0.0),
    "NaN in another place": ([NAN, 1.0], [1.0, NAN], "float32", False, INF),
    "same infinity": ([INF, -INF], [INF, -INF], "float64", True, 0.0),
    "other infinity": ([INF], [-INF], "float64", False, INF),
    "infinity and a number": ([1.0], [INF], "float64", False, INF),
    "one ulp": ([1.0], [np.nextafter(1.0, 2.0)], "float64", False, 2.0**-52),
    "bfloat16": ([1.0], [1.0078125], "bfloat16", False, 0.0078125),
    "int4": ([-8], [7], "int4", False, 15.0),
    "int64 beyond float64": ([2**62], [2**62 + 1], "int64", False, 1.0),
    "int64 ends": ([-(2**63)], [2**63 - 1], "int64", False, 2.0**64),
    "uint8 downward": ([3], [1], "uint8", False, 2.0),
    "bool": ([True, False], [True, True], "bool", False, 1.0),
    "complex NaN": ([complex(NAN, 0)], [complex(NAN, 0)], "complex64", True, 0.0),
    "complex": ([1 + 1j], [1 - 1j], "complex64", False, 2.0),
    "strings": (["a"], ["b"], "object", False, INF),
    "empty": ([], [], "float32", True, 0.0),
}


@pytest.mark.parametrize("expected, got, dtype, equal, max_abs", VALUES.values(), ids=VALUES.keys())
def test_values(expected: Any, got: Any, dtype: str, equal: bool, max_abs: float) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype) if hasattr(ml_dtypes, dtype) else dtype)
    found = compare_values("y", np.array(expected, kind), np.array(got, kind))
    assert (found.equal, found.max_abs, not found.note) == (equal, max_abs, equal)


def test_tolerance_is_relative_to_the_original_and_never_hides_nan_or_infinity() -> None:
    assert compare_values("y", np.array([100.0]), np.array([101.0]), rtol=0.01).equal
    assert not compare_values("y", np.array([100.0]), np.array([101.1]), rtol=0.01).equal
    assert compare_values("y", np.array([0.0]), np.array([0.5]), atol=0.5).equal
    for got in (NAN, INF):
        assert not compare_values("y", np.array([1.0]), np.array([got]), rtol=1e9, atol=1e9).equal
    assert not compare_values("y", np.array([INF]), np.array([1.0]), rtol=1.0).equal
    assert not compare_values("y", np.array([5]), np.array([6]), rtol=1.0).equal  # integers are exact


@pytest.mark.parametrize(
    ("expected", "got", "equal"),
    [
        pytest.param(np.array([100.0, 0.0]), np.array([100.0, 0.9]), True, id="of the largest element"),
        pytest.param(np.array([100.0, 0.0]), np.array([100.0, 1.1]), False, id="not of more"),
        pytest.param(np.array([-100.0, 0.0]), np.array([-100.0, 0.9]), True, id="of its absolute value"),
        pytest.param(np.array([INF, NAN, 1.0]), np.array([INF, NAN, 1.1]), False, id="not of infinity"),
        pytest.param([np.array([100.0]), np.array([0.0])], [np.array([100.0]), np.array([0.9])], True, id="of the whole sequence"),
        pytest.param(np.array([100, 0]), np.array([100, 1]), False, id="never of integers"),
        pytest.param(np.zeros(0), np.zeros(0), True, id="of nothing"),
    ],
)
def test_tolerance_of_sums(expected: Any, got: Any, equal: bool) -> None:
    assert compare_values("y", expected, got, of_largest=0.01).equal is equal
    assert compare_values("y", expected, got).equal is (equal and not np.size(expected))


def test_relative_difference() -> None:
    found = compare_values("y", np.array([2.0, -4.0, 0.0]), np.array([3.0, -5.0, 0.0]))
    assert (found.max_abs, found.max_rel) == (1.0, 0.5)
    assert compare_values("y", np.array([0.0]), np.array([1e-30])).max_rel == INF


@pytest.mark.parametrize(
    "expected, got, note",
    [
        (None, np.ones(1), "a tensor instead of an empty optional"),
        ([np.ones(1)], np.ones(1), "a tensor instead of a sequence"),
        ([np.ones(1)], [np.ones((1, 1))], "[0]: shape [1, 1] instead of shape [1]"),
        ({"a": 1.0}, {"a": 2.0}, "2.0 instead of 1.0 at ['a']"),
    ],
    ids=["optional", "sequence", "shape in a sequence", "map"],
)
def test_unlike_values(expected: Any, got: Any, note: str) -> None:
    found = compare_values("y", expected, got)
    assert (found.equal, found.note) == (False, note)
    assert compare_values("y", expected, expected).equal


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(), (1,)])
def test_distance_of_extreme_integers_warns_of_nothing(shape: tuple[int, ...]) -> None:
    low, high = (np.full(shape, bound, np.int64) for bound in (-3, 5))
    assert compare_values("y", low, high).max_abs == 8
    low, high = (np.full(shape, bound, np.int64) for bound in (np.iinfo(np.int64).min, np.iinfo(np.int64).max))
    assert compare_values("y", low, high).max_abs == 2.0**64


@pytest.mark.filterwarnings("error")
def test_an_error_near_the_largest_number_warns_of_nothing() -> None:
    exact = np.array([1.0, -1.7e308])
    expected = exact + np.array([1e-9, 0])
    got = excused(expected, expected, exact, 1e-12, 1e-12, rounded=np.array([1.0, 0.0]))
    np.testing.assert_array_equal(got, expected)


ROUNDED = {
    "eight times the original's error": ([1.001], [1.008], [1.0], True),
    "more": ([1.001], [1.01], [1.0], False),
    "as much as another runtime's": ([1.0001], [1.01], [1.002], True),
    "an overflow of both": ([NAN], [np.inf], [NAN], True),
    "an overflow that the result has not": ([NAN], [1.00001], [NAN], True),
    "another number for an overflow": ([np.inf], [7.0], [np.inf], False),
    "more than another runtime that is off by much": ([1.0001], [1.05], [1.02], False),
    "an overflow of the result": ([1.0], [NAN], [1.0], False),
}


@pytest.mark.parametrize(("expected", "got", "rounded", "is_excused"), ROUNDED.values(), ids=ROUNDED)
def test_what_is_only_rounded_is_excused_by_errors_of_rounding(expected: Any, got: Any, rounded: Any, is_excused: bool) -> None:
    arrays = (np.array(each, np.float32) for each in (expected, got))
    found = excused(*arrays, np.array([1.0]), 1e-4, 1e-5, rounded=np.array(rounded, np.float32))
    np.testing.assert_array_equal(found, np.array(expected if is_excused else got, np.float32))


def test_where_there_is_no_number_nothing_is_excused() -> None:
    expected, got = np.array([NAN], np.float32), np.array([7.0], np.float32)
    np.testing.assert_array_equal(excused(expected, got, np.array([NAN]), 1e-4, 1e-5, rounded=expected), got)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, object])
def test_large_arrays_are_compared_to_the_end(dtype: Any) -> None:
    """They are looked at in parts."""
    expected = np.zeros((3, 200_000), np.int8).astype(dtype)
    got = expected.copy()
    assert compare_values("y", expected, got).equal
    got[2, 7] = got[2, 199_999] = 1
    note = compare_values("y", expected, got).note
    assert note.endswith(" at [2, 7] (2 of 600000 elements differ)")
    got[1, 0] = 1
    assert compare_values("y", expected.T, got.T).note.endswith(" at [0, 1] (3 of 600000 elements differ)")


def test_nan_is_looked_for_to_the_end() -> None:
    values = np.full(600_000, NAN, np.float32)
    assert is_nan_throughout(values)
    values[-1] = 0
    assert not is_nan_throughout(values)


@pytest.mark.parametrize(
    ("kind", "agree"), [(np.uint8, True), (np.int8, True), (np.int16, False), (np.int64, False), (bool, False)]
)
def test_integers_of_8_bits_may_be_as_far_apart_as_stated(kind: type, agree: bool) -> None:
    expected, got = np.array([0, 1]).astype(kind), np.array([1, 1]).astype(kind)
    assert compare_values("y", expected, got, atol=1.0).equal == agree
    assert not compare_values("y", expected, got, atol=0.5).equal
    assert not compare_values("y", np.array([0], np.uint8), np.array([2], np.uint8), atol=1.0).equal


@pytest.mark.parametrize(
    ("got", "note"),
    [
        ([{"b": 0.25, "a": 0.75 + 2e-8}], ""),
        ([{"a": 0.75 + 1e-3, "b": 0.25}], "0.751 instead of 0.75 at [0]['a']"),
        ([{"a": 0.75, "c": 0.25}], "[0]: keys ['a', 'c'] instead of keys ['a', 'b']"),
    ],
    ids=["within-the-tolerance", "beyond-it", "another-key"],
)
@pytest.mark.parametrize("kind", [float, np.float32])
def test_floats_of_maps_have_the_tolerance_of_float32(got: list[dict[str, float]], note: str, kind: Any) -> None:
    """onnxruntime gives numbers of Python, onnx.reference those of NumPy."""
    values = [[{key: kind(number) for key, number in each.items()} for each in maps] for maps in ([{"a": 0.75, "b": 0.25}], got)]
    tolerance = Tolerance(inexact=True).of("y", dtype_name(values[0]))
    found = compare_values("y", *values, *tolerance)
    assert (found.dtype, found.equal, found.note) == ("seq(map(float32))", not note, note)
    assert compare_values("y", *values, rtol=0.1).equal is ("keys" not in note)
