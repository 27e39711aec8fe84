"""IsNaN below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, model, refusal
from special_values import SPECIAL_FLOATS


def test_refuses_a_type_that_nothing_compares():
    text = "g (bfloat16[N] x) => (bool[N] y) { y = IsNaN (x) }"
    assert "IsNaN cannot compute bfloat16 before opset 13" in refusal(model(text, 20), 8)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64), ("float16", np.float16)])
def test_special_values(kind, dtype):
    with np.errstate(over="ignore"):
        x = SPECIAL_FLOATS.astype(dtype)
    assert_same(model(f"g ({kind}[N] x) => (bool[N] y) {{ y = IsNaN (x) }}", 13), 8, {"x": x})
