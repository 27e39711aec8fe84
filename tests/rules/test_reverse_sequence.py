"""ReverseSequence below opset 10: places only, so every bit of the data stays."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model

SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


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
