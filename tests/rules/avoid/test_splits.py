"""The rules that avoid forms of Splits and Squeezes, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "splits.state_uneven_sizes",
        "Split by num_outputs, uneven",
        18,
        "g (float[5] x) => (float[3] y, float[2] z) { y, z = Split<num_outputs = 2>(x) }",
        "<int64[2] split = {3, 2}> { y, z = Split (x, split) }",
    ),
    (
        "splits.compute_sizes",
        "Split by num_outputs along an open axis",
        18,
        "g (float[2,N] x) => (float[2,A] y, float[2,B] z) { y, z = Split<axis = 1, num_outputs = 2>(x) }",
        """
            <int64[1] one = {1}, int64[1] two = {2}>
            { whole = Shape <start = 1, end = 2> (x) more = Add (whole, one) first = Div (more, two) last = Sub (whole, first)
              sizes = Concat <axis = 0> (first, last) y, z = Split <axis = 1> (x, sizes) }
        """,
    ),
    (
        "splits.state_all_sizes",
        "Split without sizes",
        13,
        "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }",
        "<int64[2] split = {2, 2}> { y, z = Split (x, split) }",
    ),
    (
        "splits.drop_empty_parts",
        "Split with a part of length 0",
        13,
        "g (float[4] x) => (float[3] y, float[1] z) <int64[3] s = {3, 0, 1}> { y, none, z = Split(x, s) }",
        "<int64[2] split = {3, 1}> { y, z = Split (x, split) }",
    ),
    (
        "splits.fold_sizes",
        "Split sizes computed at run time",
        13,
        "g (float[3] x) => (float[1] y, float[2] z) <int64[1] one = {1}, int64[1] two = {2}> { s = Concat<axis = 0>(one, two) y, z = Split(x, s) }",
        "<int64[2] split = {1, 2}> { y, z = Split (x, split) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path, skip=["fold_split.literal_sizes"])  # which would come before splits.fold_sizes
    assert_rewrites(before, after, rule, opset, opset, options)
