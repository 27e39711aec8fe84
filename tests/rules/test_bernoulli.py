"""Bernoulli below opset 15: random numbers that are compared with the probabilities."""

from __future__ import annotations

import numpy as np
from helpers import convert_version, model, run


def test_bernoulli_draws_one_with_the_probability_of_the_input():
    text = "g (float[1000] p) => (float[1000] y) { y = Bernoulli (p) }"
    result = convert_version(model(text, 15), 13).model
    for probability in (0.0, 0.1, 1.0):
        drawn = run(result, {"p": np.full(1000, probability, np.float32)})[0]
        assert abs(drawn.mean() - probability) < 0.06
