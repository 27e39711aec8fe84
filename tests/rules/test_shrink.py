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
        """
            {
              bias = Constant <value = float {0.5}> ()
              lambd = Constant <value = float {1}> ()
              above = Greater (x, lambd)
              lowered = Sub (x, bias)
              zero = Constant <value = float {0}> ()
              shrunk_places_double = Constant <value = double[2] {0, 1}> ()
              shrunk_places = Cast <to = 7> (shrunk_places_double)
              shrunk_places_2_double = Constant <value = double {0}> ()
              shrunk_places_2 = Cast <to = 7> (shrunk_places_2_double)
              shrunk_stride_double = Constant <value = double {2}> ()
              shrunk_stride = Cast <to = 7> (shrunk_stride_double)
              shrunk_places_3 = Add (shrunk_places_2, shrunk_stride)
              shrunk_flat_double = Constant <value = double[1] {-1}> ()
              shrunk_flat = Cast <to = 7> (shrunk_flat_double)
              shrunk_flat_2 = Reshape (zero, shrunk_flat)
              shrunk_both = Concat <axis = 0> (lowered, shrunk_flat_2)
              shrunk_condition = Cast <to = 7> (above)
              shrunk_way = Sub (shrunk_places, shrunk_places_3)
              shrunk_moved = Mul (shrunk_condition, shrunk_way)
              shrunk_places_4 = Add (shrunk_moved, shrunk_places_3)
              shrunk = Gather <axis = 0> (shrunk_both, shrunk_places_4)
              minus_lambd = Constant <value = float {-1}> ()
              below = Less (x, minus_lambd)
              raised = Add (x, bias)
              shrunk_2_places = Add (shrunk_places, shrunk_stride)
              shrunk_2_both = Concat <axis = 0> (raised, shrunk)
              shrunk_2_condition = Cast <to = 7> (below)
              shrunk_2_way = Sub (shrunk_places, shrunk_2_places)
              shrunk_2_moved = Mul (shrunk_2_condition, shrunk_2_way)
              shrunk_2_places_2 = Add (shrunk_2_moved, shrunk_2_places)
              y = Gather <axis = 0> (shrunk_2_both, shrunk_2_places_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
