"""Round below opset 11, at ties, limits and values that are no numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model, refusal

TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 0.50000006, 2.4, -2.6], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 8388607.5, -8388608.0, 3e38, 1e-45], np.float32)


def test_refuses_what_older_operators_cannot_compare():
    text = "g (float[N] x) => (float[N] y) { a = Cast <to=16> (x)  b = Round (a)  y = Cast <to=1> (b) }"
    assert "cannot compute bfloat16 before opset 13" in refusal(model(text, 22), 10)


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_round(target, kind, dtype):
    proto = model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Round (x) }}", 11)
    assert_same(proto, target, {"x": np.concatenate([TIES, SPECIAL]).astype(dtype)})
