"""Round below opset 11, at ties, limits and values that are no numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model

TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, 2.4, -2.6], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 8388607.5, -8388608.0, 3e38, 1e-45], np.float32)


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_round(target, kind, dtype):
    proto = model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Round (x) }}", 11)
    assert_same(proto, target, {"x": np.concatenate([TIES, SPECIAL]).astype(dtype)})


REWRITES = [
    (
        "round.nearest_even",
        11,
        10,
        "g (float[2] x) => (float[2] y) { y = Round (x) }",
        """
            <float y_c0 = {0.5}, float c0 = {0}, float c2 = {2}, float c1 = {1}>
            {
              magnitude = Abs (x)
              floor = Floor (magnitude)
              rest = Sub (magnitude, floor)
              halved = Mul (floor, y_c0)
              pairs = Floor (halved)
              odd = Sub (halved, pairs)
              above = Greater (rest, y_c0)
              below = Less (rest, y_c0)
              off = Or (above, below)
              at_half = Not (off)
              is_odd = Greater (odd, c0)
              to_even = And (at_half, is_odd)
              up = Or (above, to_even)
              step = Cast <to = 1> (up)
              rounded = Add (floor, step)
              negative = Less (x, c0)
              negative_2 = Cast <to = 1> (negative)
              twice = Mul (negative_2, c2)
              sign = Sub (c1, twice)
              y = Mul (rounded, sign)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
