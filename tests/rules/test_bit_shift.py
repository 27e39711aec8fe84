"""BitShift: by the whole width and more at opset 28, and as products and quotients below 11."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, known, model, run
from special_values import INTEGER_TYPES, integer_limits, quotient_runtime


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction, function", [("LEFT", np.left_shift), ("RIGHT", np.right_shift)])
def test_unsigned_shift(kind, direction, function):
    a, by = integer_limits(kind), np.arange(np.iinfo(kind).bits, dtype=kind)
    given = {"a": np.repeat(a, len(by)), "b": np.tile(by, len(a))}
    proto = model(f'g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = BitShift <direction="{direction}"> (a, b) }}', 13)
    np.testing.assert_array_equal(
        run(convert_version(proto, 9).model, given, quotient_runtime(kind))[0], function(given["a"], given["b"])
    )


@pytest.mark.skipif(not known(28), reason="onnx has no opset 28")
@pytest.mark.parametrize("kind", INTEGER_TYPES)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shift_of_opset_28(kind, direction):
    """Expected numbers from Python's own integers, which have no width."""
    bits, limits = np.iinfo(kind).bits, np.iinfo(kind)
    by = np.array(sorted({0, 1, bits - 1, bits, min(bits + 1, limits.max), limits.max, max(limits.min, -1)}), kind)
    a = integer_limits(kind)
    given = {"a": np.repeat(a, len(by)), "b": np.tile(by, len(a))}

    def shift(number: int, n: int) -> int:
        if not 0 <= n < bits:
            return -1 if direction == "RIGHT" and number < 0 else 0
        wide = (number << n) % 2**bits if direction == "LEFT" else number >> n
        return wide - 2**bits if wide > limits.max else wide

    expected = np.array([shift(int(x), int(n)) for x, n in zip(given["a"], given["b"], strict=True)], kind)
    proto = model(f'g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = BitShift <direction="{direction}"> (a, b) }}', 28)
    np.testing.assert_array_equal(run(convert_version(proto, 18).model, given)[0], expected)


REWRITES = [
    (
        "bit_shift.shift_within_the_width",
        28,
        27,
        'g (int32[2] a) => (int32[2] y) <int32 b = {3}> { y = BitShift <direction = "RIGHT"> (a, b) }',
        """<int64 v2 = {0}, int64 v6 = {1}, uint32 v11 = {3}>
        {
        v1 = Cast <to = 7> (a)
        v3 = Less (v1, v2)
        v4 = Cast <to = 7> (v3)
        v5 = Add (v4, v4)
        v7 = Sub (v6, v5)
        v8 = Mul (v1, v7)
        v9 = Sub (v8, v4)
        v10 = Cast <to = 12> (v9)
        v12 = BitShift <direction = "RIGHT"> (v10, v11)
        v13 = Cast <to = 7> (v12)
        v14 = Mul (v13, v7)
        v15 = Sub (v14, v4)
        y = Cast <to = 6> (v15)
        }""",
    ),
    (
        "bit_shift.multiply_by_power_of_two",
        11,
        10,
        'g (uint8[2] a, uint8[2] b) => (uint8[2] y) { y = BitShift <direction = "LEFT"> (a, b) }',
        """
            <int64[8] powers = {1, 2, 4, 8, 16, 32, 64, 128}>
            {
              by = Cast <to = 7> (b)
              power = Gather <axis = 0> (powers, by)
              wide = Cast <to = 7> (a)
              shifted = Mul (wide, power)
              y = Cast <to = 2> (shifted)
            }
        """,
    ),
    (
        "bit_shift.shift_within_the_width",
        28,
        27,
        'g (uint32[2] a, uint32[2] b) => (uint32[2] y) { y = BitShift <direction = "LEFT"> (a, b) }',
        """
            <int64 bound = {0}, int64 bound_2 = {32}>
            {
              wide = Cast <to = 7> (b)
              below = Less (wide, bound)
              from = Not (below)
              narrow = Less (wide, bound_2)
              inside = And (from, narrow)
              inside_2 = Cast <to = 7> (inside)
              by = Mul (wide, inside_2)
              unsigned = Cast <to = 12> (by)
              shifted = BitShift <direction = "LEFT"> (a, unsigned)
              wide_2 = Cast <to = 7> (shifted)
              shifted_2 = Mul (wide_2, inside_2)
              y = Cast <to = 12> (shifted_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
