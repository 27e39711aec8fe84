"""Other forms of Softmax, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting import Row, assert_fits

LAST = "[[rule]]\noperators = ['Softmax']\nattr = { axis = [-1] }"
CHANNELS = LAST.replace("-1", "1")
REWRITES = [
    (
        "softmaxes.over_the_last_axis",
        ["Softmax", "Transpose"],
        LAST,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }",
        """{
            moved = Transpose <perm = [0, 2, 1]> (x)
            found = Softmax <axis = -1> (moved)
            y = Transpose <perm = [0, 2, 1]> (found)
        }""",
    ),
    (
        "softmaxes.over_the_channels",
        ["Softmax", "Transpose"],
        CHANNELS,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = -1>(x) }",
        """{
            moved = Transpose <perm = [0, 2, 1]> (x)
            found = Softmax <axis = 1> (moved)
            y = Transpose <perm = [0, 2, 1]> (found)
        }""",
    ),
    (
        "softmaxes.logarithm_of_softmax",
        ["Exp", "Log", "Sub", "ReduceSum", "ReduceMax"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = LogSoftmax<axis = 1>(x) }",
        """<int64[1] a = {1}> {
            highest = ReduceMax <axes = [1], keepdims = 1> (x)
            shifted = Sub (x, highest)
            powers = Exp (shifted)
            total = ReduceSum <keepdims = 1> (powers, a)
            part = Log (total)
            y = Sub (shifted, part)
        }""",
    ),
    (
        "softmaxes.in_elementary_functions",
        ["Exp", "Div", "Sub", "ReduceSum", "ReduceMax"],
        "",
        "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 0>(x) }",
        """<int64[1] a = {0}> {
            highest = ReduceMax <axes = [0], keepdims = 1> (x)
            shifted = Sub (x, highest)
            powers = Exp (shifted)
            total = ReduceSum <keepdims = 1> (powers, a)
            y = Div (powers, total)
        }""",
    ),
]


@pytest.mark.parametrize("row", REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(row: Row, tmp_path: Path) -> None:
    assert_fits(row, tmp_path)
