"""Celu below opset 12, by max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

import numpy as np
import pytest
from helpers import convert_version, model, refusal, run

X = np.array([np.nan, np.inf, -np.inf, 3.0, -3.0, 0.5, -0.5, 0.0, 3e38, -3e38], np.float32)


def celu(alpha: float) -> str:
    return f"g (float[N] x) => (float[N] y) {{ y = Celu <alpha = {alpha}> (x) }}"


def test_refused():
    assert "alpha=0: Celu divides by it" in refusal(model(celu(0.0), 12), 11)


@pytest.mark.parametrize("alpha", [1.0, 2.5, 0.25, -0.5, -1.5])
@pytest.mark.parametrize("target", [11, 7])
def test_any_slope(alpha, target):
    with np.errstate(all="ignore"):
        wide = X.astype(np.float64)
        expected = np.maximum(wide, 0) + np.minimum(0, alpha * np.expm1(wide / alpha))
        expected = expected.astype(np.float32)
    (got,) = run(convert_version(model(celu(alpha), 12), target).model, {"x": X})
    np.testing.assert_allclose(got, expected, rtol=1e-6, equal_nan=True)
