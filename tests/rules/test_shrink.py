"""Shrink below opset 9, by what the specification says of each element."""

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run


def shrink(dtype: str, attributes: str) -> str:
    return f"g ({dtype}[N] x) => ({dtype}[N] y) {{ y = Shrink <{attributes}> (x) }}"


@pytest.mark.parametrize(
    ("dtype", "attributes", "reason"),
    [
        ("int32", "bias = 0.5", "bias=0.5 of int32: no specification says how the result is rounded"),
        ("int8", "bias = -1.0", "the result may be out of range for the type"),
        ("uint8", "lambd = -1.0", "the result may be out of range for the type"),
        ("uint8", "bias = 3.0, lambd = 1.0", "the result may be out of range for the type"),
    ],
)
def test_refused(dtype, attributes, reason):
    assert reason in refusal(model(shrink(dtype, attributes), 9), 8)


@pytest.mark.parametrize("attributes", ["lambd = 0.5", "lambd = 2.7, bias = 1.0", "lambd = -1.5, bias = 2.0"])
def test_integers_are_compared_with_fractions(attributes):
    assert_same(model(shrink("int32", attributes), 9), 8, {"x": np.arange(-6, 7, dtype=np.int32)})


X = np.array([np.nan, np.inf, -np.inf, 0.3, -0.3, 0.1, 1, -1, -0.0])


@pytest.mark.parametrize("dtype", ["float", "float16"])
def test_numbers(dtype):
    """float16 has no 0.3, and what it has instead is above the float 0.3."""
    proto = model(shrink(dtype, "lambd = 0.3, bias = 0.1"), 9)
    assert_same(proto, 8, {"x": X.astype({"float": np.float32, "float16": np.float16}[dtype])})


def test_double():
    """onnxruntime itself rounds to float on the way."""
    result = convert_version(model(shrink("double", "lambd = 0.25, bias = 0.125"), 9), 8).model
    expected = [0, np.inf, -np.inf, 0.3 - 0.125, 0.125 - 0.3, 0, 0.875, -0.875, 0]
    assert run(result, {"x": X})[0].tolist() == expected


def test_unsigned():
    result = assert_same(model(shrink("uint8", "lambd = 2.5, bias = 2.0"), 9), 8, {"x": np.arange(6, dtype=np.uint8)})
    assert run(result, {"x": np.arange(6, dtype=np.uint8)})[0].tolist() == [0, 0, 0, 1, 2, 3]


REWRITES = [
    (
        "shrink.choose_by_bounds",
        9,
        8,
        "g (float[2] x) => (float[2] y) { y = Shrink <bias = 0.5, lambd = 1.0> (x) }",
        """{
        v1 = Constant <value = float {0.5}> ()
        v2 = Constant <value = float {1}> ()
        v3 = Greater (x, v2)
        v4 = Sub (x, v1)
        v5 = Constant <value = float {0}> ()
        v6 = Constant <value = double[1] {-1}> ()
        v7 = Cast <to = 7> (v6)
        v8 = Reshape (v5, v7)
        v9 = Concat <axis = 0> (v4, v8)
        v10 = Constant <value = double[2] {-2,-1}> ()
        v11 = Cast <to = 7> (v10)
        v12 = Constant <value = double {2}> ()
        v13 = Cast <to = 7> (v12)
        v14 = Cast <to = 7> (v3)
        v15 = Mul (v14, v11)
        v16 = Add (v15, v13)
        v17 = Gather <axis = 0> (v9, v16)
        v18 = Constant <value = float {-1}> ()
        v19 = Less (x, v18)
        v20 = Add (x, v1)
        v21 = Concat <axis = 0> (v20, v17)
        v22 = Constant <value = double[2] {-2,-2}> ()
        v23 = Cast <to = 7> (v22)
        v24 = Constant <value = double[2] {2,3}> ()
        v25 = Cast <to = 7> (v24)
        v26 = Cast <to = 7> (v19)
        v27 = Mul (v26, v23)
        v28 = Add (v27, v25)
        y = Gather <axis = 0> (v21, v28)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
