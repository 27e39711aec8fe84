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
        """{
        v1 = Constant <value = float {0}> ()
        v2 = Greater (x, v1)
        v3 = Less (x, v1)
        v4 = Cast <to = 1> (v2)
        v5 = Cast <to = 1> (v3)
        v6 = Sub (v4, v5)
        v7 = Constant <value = float {1}> ()
        v8 = Less (x, v7)
        v9 = Greater (x, v1)
        v10 = Or (v8, v9)
        v11 = Not (v10)
        v12 = Concat <axis = 0> (x, v6)
        v13 = Constant <value = double[2] {-2,-2}> ()
        v14 = Cast <to = 7> (v13)
        v15 = Constant <value = double[2] {2,3}> ()
        v16 = Cast <to = 7> (v15)
        v17 = Cast <to = 7> (v11)
        v18 = Mul (v17, v14)
        v19 = Add (v18, v16)
        y = Gather <axis = 0> (v12, v19)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
