"""Max, Min and Pow: more types came with opset 12."""

from __future__ import annotations

import pytest
from helpers import assert_rewrites

REWRITES = [
    (
        "pow.power_in_one_type",
        12,
        11,
        "g (float[2] x, int64 e) => (float[2] y) { y = Pow (x, e) }",
        "{ v1 = Cast <to = 11> (x) v2 = Cast <to = 11> (e) v3 = Pow (v1, v2) y = Cast <to = 1> (v3) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
