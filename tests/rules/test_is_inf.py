"""IsInf below opset 10."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model
from special_values import SPECIAL_FLOATS


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64)])
def test_special_values(positive, negative, kind, dtype):
    text = f"g ({kind}[N] x) => (bool[N] y) {{ y = IsInf <detect_positive={positive}, detect_negative={negative}> (x) }}"
    assert_same(model(text, 10), 9, {"x": SPECIAL_FLOATS.astype(dtype)})


REWRITES = [
    (
        "is_inf.compare_with_the_largest",
        10,
        9,
        "g (float[2] x) => (bool[2] y) { y = IsInf (x) }",
        "<float v2 = {3.4028235e+38}> { v1 = Abs (x) y = Greater (v1, v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
