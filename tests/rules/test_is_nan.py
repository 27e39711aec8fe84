"""IsNaN below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal
from special_values import SPECIAL_FLOATS


def test_refuses_a_type_that_nothing_compares():
    text = "g (bfloat16[N] x) => (bool[N] y) { y = IsNaN (x) }"
    assert "the model's input is bfloat16, which does not exist before opset 13" in refusal(model(text, 20), 8)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("double", np.float64), ("float16", np.float16)])
def test_special_values(kind, dtype):
    with np.errstate(over="ignore"):
        x = SPECIAL_FLOATS.astype(dtype)
    assert_same(model(f"g ({kind}[N] x) => (bool[N] y) {{ y = IsNaN (x) }}", 13), 8, {"x": x})


REWRITES = [
    (
        "is_nan.compare_with_zero_and_one",
        9,
        8,
        "g (float[2] x) => (bool[2] y) { y = IsNaN (x) }",
        "{ v1 = Constant <value = float {1}> () v2 = Less (x, v1) v3 = Constant <value = float {0}> () v4 = Greater (x, v3) v5 = Or (v2, v4) y = Not (v5) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
