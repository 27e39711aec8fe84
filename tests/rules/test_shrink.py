"""Shrink below opset 9, by what the specification says of each element."""

import numpy as np
import pytest
from avoiding import converted
from helpers import assert_rewrites, assert_same, convert_version, known, model, refusal, run

from split_rewrite.rewriter import UnconvertibleError


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
        v1 = Constant <value = float {1}> ()
        v2 = Greater (x, v1)
        v3 = Constant <value = float {-1}> ()
        v4 = Less (x, v3)
        v5 = Or (v2, v4)
        v6 = Cast <to = 1> (v4)
        v7 = Cast <to = 1> (v2)
        v8 = Sub (v6, v7)
        v9 = Constant <value = float {0.5}> ()
        v10 = Mul (v8, v9)
        v11 = Add (x, v10)
        v12 = Constant <value = float[1] {0}> ()
        v13 = Concat <axis = 0> (v12, v11)
        v14 = Constant <value = double[2] {1,2}> ()
        v15 = Cast <to = 7> (v14)
        v16 = Cast <to = 7> (v5)
        v17 = Mul (v16, v15)
        y = Gather <axis = 0> (v13, v17)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("dtype", ["int16", "uint8", "float16"])
@pytest.mark.parametrize("opset", known(9, 28))
def test_a_runtime_that_computes_it_wrongly_gets_attributes_that_are_not_rounded(dtype, opset, tmp_path):
    proto = model(shrink(dtype, "lambd = 2.3, bias = 1.0"), opset)
    x = np.array([0, 1, 2, 2.3, 3, 4]).astype(dtype)
    result = converted(proto, "Shrink", tmp_path)
    expected = np.where(x.astype(np.float32) > np.float32(2.3), x - np.ones((), x.dtype), np.zeros((), x.dtype))
    np.testing.assert_array_equal(run(result, {"x": x})[0], expected)


def test_a_bias_of_integers_that_is_a_fraction_is_refused_for_a_runtime(tmp_path):
    with pytest.raises(UnconvertibleError, match=r"bias=0.5 of int16: no specification says how the result is rounded"):
        converted(model(shrink("int16", "bias = 0.5"), 9), "Shrink", tmp_path)
