"""IsInf below opset 10."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model
from special_values import SPECIAL_FLOATS


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_special_values(positive, negative, kind, dtype):
    text = f"g ({kind}[N] x) => (bool[N] y) {{ y = IsInf <detect_positive={positive}, detect_negative={negative}> (x) }}"
    assert_same(model(text, 10), 9, {"x": SPECIAL_FLOATS.astype(dtype)})
