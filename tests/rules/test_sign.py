"""Sign below opset 9."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model


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


REWRITES = [
    (
        "sign.compare_with_zero",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Sign (x) }",
        """
            {
              zero = Constant <value = float {0}> ()
              above = Greater (x, zero)
              below = Less (x, zero)
              sign = Cast <to = 1> (above)
              sign_2 = Cast <to = 1> (below)
              sign_3 = Sub (sign, sign_2)
              is_nan_one = Constant <value = float {1}> ()
              is_nan_below = Less (x, is_nan_one)
              is_nan_above = Greater (x, zero)
              is_nan_number = Or (is_nan_below, is_nan_above)
              is_nan = Not (is_nan_number)
              places_double = Constant <value = double[2] {0, 1}> ()
              places = Cast <to = 7> (places_double)
              stride_double = Constant <value = double {2}> ()
              stride = Cast <to = 7> (stride_double)
              places_2 = Add (places, stride)
              both = Concat <axis = 0> (x, sign_3)
              condition = Cast <to = 7> (is_nan)
              way = Sub (places, places_2)
              moved = Mul (condition, way)
              places_3 = Add (moved, places_2)
              y = Gather <axis = 0> (both, places_3)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
