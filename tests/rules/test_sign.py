"""Sign below opset 9."""

import numpy as np
import pytest
from helpers import assert_same, model


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", [8, 7])
def test_what_is_no_number_has_no_sign(dtype, target):
    kind = {np.float32: "float", np.float64: "double"}[dtype]
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0, 3, -1e-45], dtype)
    assert_same(model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Sign (x) }}", 9), target, {"x": x})


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("int8", np.int8), ("uint8", np.uint8)])
def test_sign(kind, dtype):
    x = np.array([0, 1, 2, 100], dtype) if kind == "uint8" else np.array([0, 1, -1, 100, -100], dtype)
    assert_same(model(f"g ({kind}[N] x) => ({kind}[N] y) {{ y = Sign (x) }}", 13), 8, {"x": x})
