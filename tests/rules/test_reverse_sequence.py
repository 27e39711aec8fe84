"""ReverseSequence below opset 10: places only, so every bit of the data stays."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


@pytest.mark.parametrize("axes", ["batch_axis=1, time_axis=1", "time_axis=1", "batch_axis=0", "batch_axis=2", "time_axis=-3"])
def test_axes_that_the_specification_does_not_allow_are_refused(axes):
    text = f"g (float[3,4,3] x, int64[3] n) => (float[3,4,3] y) {{ y = ReverseSequence <{axes}> (x, n) }}"
    assert "where one has to be 0 and the other 1" in refusal(model(text, 10), 9)


@pytest.mark.parametrize("batch_axis, time_axis", [(0, 1), (1, 0)])
@pytest.mark.parametrize("target", [9, 7])
def test_reverse_sequence(batch_axis, time_axis, target):
    shape = (3, 4, 2)
    text = (
        f"g (float[3,4,2] x, int64[{shape[batch_axis]}] n) => (float[3,4,2] y) "
        f"{{ y = ReverseSequence <batch_axis={batch_axis}, time_axis={time_axis}> (x, n) }}"
    )
    lengths = np.arange(1, shape[batch_axis] + 1) % (shape[time_axis] + 1)
    lengths[lengths == 0] = 1
    assert_same(model(text, 10), target, {"x": np.resize(SPECIAL, shape), "n": lengths})


REWRITES = [
    (
        "reverse_sequence.gather_mirrored",
        10,
        9,
        "g (float[3,2] x, int64[2] n) => (float[3,2] y) { y = ReverseSequence (x, n) }",
        """
            <int64[2] column = {-1, 1}, int64[3] time = {0, 1, 2}, int64[3] twice = {1, 3, 5}, int64[1] flat = {-1},
             int64[3,2] cells = {0, 3, 1, 4, 2, 5}, int64 stride = {2}, int64[3,2] own = {0, 1, 2, 3, 4, 5}>
            {
              lengths = Reshape (n, column)
              inside = Less (time, lengths)
              inside_2 = Cast <to = 7> (inside)
              way = Sub (lengths, twice)
              way_2 = Mul (inside_2, way)
              flat_2 = Reshape (way_2, flat)
              way_3 = Gather <axis = 0> (flat_2, cells)
              way_4 = Mul (way_3, stride)
              flat_3 = Reshape (x, flat)
              places = Add (way_4, own)
              y = Gather <axis = 0> (flat_3, places)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
