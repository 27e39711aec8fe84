"""EyeLike below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model, refusal


def test_refuses_an_unknown_size():
    text = "g (float[N,3] x) => (float[N,3] y) { y = EyeLike (x) }"
    assert "is not fully known" in refusal(model(text, 9), 8)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_eye(k):
    assert_same(
        model(f"g (int32[3,4] x) => (float[3,4] y) {{ y = EyeLike <k={k}, dtype=1> (x) }}", 9), 8, {"x": np.zeros((3, 4), np.int32)}
    )
