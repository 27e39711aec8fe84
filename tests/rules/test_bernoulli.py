"""Bernoulli below opset 15: random numbers that are compared with the probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run


def test_bernoulli_draws_one_with_the_probability_of_the_input():
    text = "g (float[1000] p) => (float[1000] y) { y = Bernoulli (p) }"
    result = convert_version(model(text, 15), 13).model
    for probability in (0.0, 0.1, 1.0):
        drawn = run(result, {"p": np.full(1000, probability, np.float32)})[0]
        assert abs(drawn.mean() - probability) < 0.06


REWRITES = [
    (
        "bernoulli.draw_below",
        15,
        14,
        "g (float[2] p) => (float[2] y) { y = Bernoulli (p) }",
        "{ v1 = RandomUniformLike <dtype = 1, high = 1.0, low = 0.0> (p) v2 = Less (v1, p) y = Cast <to = 1> (v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
