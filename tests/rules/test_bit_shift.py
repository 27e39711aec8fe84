"""BitShift: by the whole width and more at opset 28, and as products and quotients below 11."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import convert_version, known, model, run
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
