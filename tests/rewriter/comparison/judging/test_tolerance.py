"""Tolerances: what each type allows, and what is said for one output."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from split_rewrite.rewriter.comparison.judging.tolerance import Tolerance


# In units of eps (numpy.finfo, ml_dtypes.finfo), as docs/comparison.md states them.
@pytest.mark.parametrize(
    ("dtype", "eps", "rtol", "atol", "of_largest"),
    [
        ("float64", np.finfo(np.float64).eps, 4096, 512, 16),
        ("float32", np.finfo(np.float32).eps, 1024, 128, 16),
        ("seq(float32)", np.finfo(np.float32).eps, 1024, 128, 16),
        ("seq(map(float32))", np.finfo(np.float32).eps, 1024, 128, 16),
        ("seq(map(string))", 1.0, 0, 0, 0),
        ("float16", np.finfo(np.float16).eps, 16, 4, 4),
        ("bfloat16", ml_dtypes.finfo(ml_dtypes.bfloat16).eps, 8, 2, 2),
        ("int64", 1.0, 0, 0, 0),
        ("string", 1.0, 0, 0, 0),
    ],
)
def test_default_tolerance_follows_the_type(dtype: str, eps: float, rtol: int, atol: int, of_largest: int) -> None:
    assert Tolerance(inexact=True).of("y", dtype) == (rtol * float(eps), atol * float(eps), 0)
    assert Tolerance(inexact=True, sums=True).of("y", dtype)[2] == of_largest * float(eps)
    assert Tolerance(sums=True).of("y", dtype) == (0, 0, 0)
    assert Tolerance(rtol=0.5, inexact=True).of("y", dtype) == (0.5, atol * float(eps), 0)
    for stated in ({"atol": 0.5}, {"atol_of": {"y": 0.5}}):
        assert Tolerance(**stated, inexact=True, sums=True).of("y", dtype)[1:] == (0.5, 0)


def test_steps_of_a_quantization() -> None:
    """Integers of 8 bits may be one apart, others not, and what is stated takes precedence."""
    tolerance = Tolerance(inexact=True, steps=True)
    assert tolerance.of("y", "uint8") == tolerance.of("y", "int8") == (0, 1, 1 / 32)
    assert tolerance.of("y", "int64") == (0, 0, 1 / 32)
    assert tolerance.of("y", "float32")[2] == 1 / 32
    assert Tolerance(atol=0.5, inexact=True, steps=True).of("y", "float32")[1:] == (0.5, 0)
