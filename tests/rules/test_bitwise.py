"""BitwiseAnd, BitwiseOr, BitwiseXor and BitwiseNot below opset 18, at the limits of every type."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, run
from special_values import INTEGER_TYPES, integer_limits, integer_pairs


@pytest.mark.parametrize("kind", INTEGER_TYPES)
@pytest.mark.parametrize(
    "operator, function",
    [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)],
)
def test_bitwise(kind, operator, function):
    given = integer_pairs(kind)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = {operator} (a, b) }}"), 15).model
    np.testing.assert_array_equal(run(result, given)[0], function(given["a"], given["b"]))


def test_bitwise_broadcasts():
    proto = model("g (int32[2,1,3] a, int32[4,1] b) => (int32[2,4,3] y) { y = BitwiseAnd (a, b) }")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(2**31), 2**31, size=shape, dtype=np.int32) for shape in ((2, 1, 3), (4, 1)))
    assert_same(proto, 11, {"a": a, "b": b})


@pytest.mark.parametrize("kind", INTEGER_TYPES)
def test_bitwise_not(kind):
    assert_same(model(f"g ({kind}[N] a) => ({kind}[N] y) {{ y = BitwiseNot (a) }}"), 15, {"a": integer_limits(kind)})


def test_bits_of_nothing() -> None:
    """onnxruntime does not reduce an empty tensor along a negative axis."""
    proto = model("g (int32[N,1] x) => (int32[N,1] y) {y = BitwiseOr(x, x)}", 18)
    assert_same(proto, 17, {"x": np.zeros((0, 1), np.int32)})


REWRITES = [
    (
        "bitwise.subtract_from_all_ones",
        18,
        17,
        "g (int32[2] a) => (int32[2] y) { y = BitwiseNot (a) }",
        "<int32 v1 = {-1}> { y = Sub (v1, a) }",
    ),
    (
        "bitwise.bit_by_bit",
        18,
        17,
        "g (uint8[2] a, uint8[2] b) => (uint8[2] y) { y = BitwiseAnd (a, b) }",
        """
            <int64[1] last = {-1}, int64[8] powers = {1, 2, 4, 8, 16, 32, 64, 128}, int64 two = {2}, int64[1] last_2 = {1}>
            {
              wide = Cast <to = 7> (a)
              column = Unsqueeze (wide, last)
              shifted = Div (column, powers)
              half = Div (shifted, two)
              even = Mul (half, two)
              bits = Sub (shifted, even)
              wide_2 = Cast <to = 7> (b)
              column_2 = Unsqueeze (wide_2, last)
              shifted_2 = Div (column_2, powers)
              half_2 = Div (shifted_2, two)
              even_2 = Mul (half_2, two)
              bits_2 = Sub (shifted_2, even_2)
              both = Mul (bits, bits_2)
              weighted = Mul (both, powers)
              sum = ReduceSum <keepdims = 0> (weighted, last_2)
              y = Cast <to = 2> (sum)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
