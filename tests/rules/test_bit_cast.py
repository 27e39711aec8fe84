"""BitCast below opset 26: the bits of integers read as other integers, and as floating point numbers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, known, model, refusal, run
from special_values import integer_limits

FLOATS = {
    "float": ("int32", "uint32", np.float32, 23),
    "double": ("int64", "uint64", np.float64, 52),
    "float16": ("int16", "uint16", np.float16, 10),
}


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
def test_refuses_the_bits_of_a_floating_point_number():
    text = "g (float[N] a) => (int32[N] y) { y = BitCast <to=6> (a) }"
    assert "cannot read the bits of a floating point number" in refusal(model(text, 26), 25)


def patterns(bits: int, fraction: int) -> np.ndarray:
    """Zeros, the smallest, the edges of each exponent, infinities, some NaN, and bits by chance."""
    exponents = np.arange(2 ** (bits - 1 - fraction), dtype=np.uint64) << np.uint64(fraction)
    edges = np.concatenate([exponents, exponents + np.uint64(1), exponents[1:] - np.uint64(1)])
    chance = np.random.default_rng(5).integers(0, 2**bits - 1, 3000, np.uint64, endpoint=True)
    found = np.concatenate([edges, edges + np.uint64(2 ** (bits - 1)), chance])
    return found.astype(f"uint{bits}")


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("source, number, target", [("int32", 12, "uint32"), ("uint64", 7, "int64"), ("uint16", 5, "int16")])
def test_bits_of_integers(source, number, target):
    proto = model(f"g ({source}[N] a) => ({target}[N] y) {{ y = BitCast <to={number}> (a) }}", 26)
    given = integer_limits(source)
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"a": given})[0], given.view(target))


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("target", [25, 13, 9, 7])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("kind", FLOATS)
def test_a_float_of_bits(kind, signed, target):
    *names, dtype, fraction = FLOATS[kind]
    source = names[not signed]
    bits = patterns(np.iinfo(source).bits, fraction).view(source)
    to = onnx.TensorProto.DataType.Value(kind.upper())
    proto = model(f"g ({source}[N] x) => ({kind}[N] y) {{ y = BitCast <to={to}> (x) }}", 26)
    got, expected = run(convert_version(proto, target).model, {"x": bits})[0], bits.view(dtype)
    np.testing.assert_array_equal(got, expected, strict=True)
    counts = ~np.isnan(expected)
    np.testing.assert_array_equal(got.view(source)[counts], bits[counts])


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
def test_the_byte_of_a_bool():
    proto = model("g (bool[2] x) => (uint8[2] y) { y = BitCast <to=2> (x) }", 26)
    np.testing.assert_array_equal(
        run(convert_version(proto, 7).model, {"x": np.array([True, False])})[0], np.uint8([1, 0]), strict=True
    )


REWRITES = [
    (
        "bit_cast.cast_of_the_same_width",
        26,
        25,
        "g (int32[2] x) => (uint32[2] y) { y = BitCast <to = 12> (x) }",
        "{ y = Cast <to = 12> (x) }",
    ),
    (
        "bit_cast.cast_of_the_same_width",
        26,
        25,
        "g (int16[2] x) => (float16[2] y) { y = BitCast <to = 10> (x) }",
        """
            <int64 zero = {0}, int64 lowest = {-32768}, int64 unit = {1024}, int64 row = {32},
             int64[32] hidden = {0, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024},
             double[64] powers = {5.960464477539063e-08, 5.960464477539063e-08, 1.1920928955078125e-07, 2.384185791015625e-07, 4.76837158203125e-07, 9.5367431640625e-07, 1.9073486328125e-06, 3.814697265625e-06, 7.62939453125e-06, 1.52587890625e-05, 3.0517578125e-05, 6.103515625e-05, 0.0001220703125, 0.000244140625, 0.00048828125, 0.0009765625, 0.001953125, 0.00390625, 0.0078125, 0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, inf, 5.960464477539063e-08, 5.960464477539063e-08, 1.1920928955078125e-07, 2.384185791015625e-07, 4.76837158203125e-07, 9.5367431640625e-07, 1.9073486328125e-06, 3.814697265625e-06, 7.62939453125e-06, 1.52587890625e-05, 3.0517578125e-05, 6.103515625e-05, 0.0001220703125, 0.000244140625, 0.00048828125, 0.0009765625, 0.001953125, 0.00390625, 0.0078125, 0.015625, 0.03125, 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, nan},
             double[2] signs = {1, -1}>
            {
              number = Cast <to = 7> (x)
              negative = Less (number, zero)
              negative_2 = Cast <to = 7> (negative)
              offset = Mul (negative_2, lowest)
              low_bits = Sub (number, offset)
              exponent = Div (low_bits, unit)
              high_bits = Mul (exponent, unit)
              fraction = Sub (low_bits, high_bits)
              some = Cast <to = 9> (fraction)
              some_2 = Cast <to = 7> (some)
              row_2 = Mul (some_2, row)
              place = Add (exponent, row_2)
              gather = Gather <axis = 0> (hidden, exponent)
              significand = Add (fraction, gather)
              significand_2 = Cast <to = 11> (significand)
              power = Gather <axis = 0> (powers, place)
              sign = Gather <axis = 0> (signs, negative_2)
              size = Mul (significand_2, power)
              float = Mul (size, sign)
              y = Cast <to = 10> (float)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
