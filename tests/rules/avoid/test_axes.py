"""The rule that counts axes from the front, and what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model

from split_rewrite.rewriter import UnconvertibleError

FORM = "Negative axis"
REWRITES = [
    (
        "axes.count_from_the_front",
        17,
        "g (float[N,4,3,1] x) => (float[N,4,3,2] y) { y = DFT <axis = -3> (x) }",
        "{ y = DFT <axis = 1> (x) }",
    ),
    (
        "axes.count_from_the_front",
        20,
        "g (float[N,4,3,1] x) => (float[N,4,3,2] y) <int64 a = {-3}> { y = DFT (x, , a) }",
        "<int64 front = {1}> { y = DFT (x, , front) }",
    ),
    (
        "axes.count_from_the_front",
        18,
        "g (float[N,2,H,W] x) => (float[A,B,C,D] y) <float[2] s = {2, 3}> { y = Resize <axes = [-1, 2]> (x, , s) }",
        "<float[2] s = {2, 3}> { y = Resize <axes = [3, 2]> (x, , s) }",
    ),
]


def test_an_unknown_rank_is_refused(tmp_path: Path) -> None:
    source = model(
        "g (float[A,B] x, int64[R] s) => (float y) { r = Reshape (x, s) u = DFT <axis = -2> (r) y = ReduceSum <keepdims = 0> (u) }",
        17,
    )
    with pytest.raises(UnconvertibleError, match="the rank of 'r' is unknown"):
        converted(source, FORM, tmp_path)


@pytest.mark.parametrize(("rule", "opset", "before", "after"), REWRITES)
def test_rewrites(rule: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(FORM, tmp_path))
