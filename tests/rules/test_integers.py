"""Integer arithmetic below the opsets that brought it: limits of every type, both signs, shifts by the whole width."""

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, known, model, refusal, run

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def quotient_runtime(kind: str) -> str:
    """onnxruntime has no Div of uint64, and the reference of old onnx divides it as double."""
    if kind == "uint64" and not known(24):
        pytest.skip("nothing divides uint64")
    return "onnx.reference" if kind == "uint64" else "onnxruntime"


def values(kind: str) -> np.ndarray:
    limits = np.iinfo(kind)
    return np.array(sorted({limits.min, limits.max, 0, 1, 7, limits.max // 3, limits.min // 2}), kind)


def pairs(kind: str, divisors: bool = False) -> dict[str, np.ndarray]:
    a = values(kind)
    b = a[a != 0] if divisors else a
    a, b = np.repeat(a, len(b)), np.tile(b, len(a))
    overflow = (a == np.iinfo(kind).min) & (b.astype(object) == -1) if divisors else np.zeros(len(a), bool)
    return {"a": a[~overflow], "b": b[~overflow]}


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (float[N] a) => (int32[N] y) { y = BitCast <to=6> (a) }",
            26,
            25,
            "cannot read the bits of a floating point number",
            id="bits of a float",
            marks=pytest.mark.skipif(not known(26), reason="onnx has no opset 26"),
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("target", [9, 7])
def test_mod_has_the_sign_of_the_divisor(kind, target):
    given = pairs(kind, divisors=True)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod (a, b) }}", 13), target).model
    np.testing.assert_array_equal(run(result, given, quotient_runtime(kind))[0], np.mod(given["a"], given["b"]))


@pytest.mark.parametrize("kind", TYPES)
def test_fmod_of_integers_has_the_sign_of_the_dividend(kind):
    given = pairs(kind, divisors=True)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod <fmod=1> (a, b) }}", 11), 9).model
    np.testing.assert_array_equal(run(result, given, quotient_runtime(kind))[0], np.fmod(given["a"], given["b"]))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "operator, function",
    [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)],
)
def test_bitwise(kind, operator, function):
    given = pairs(kind)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = {operator} (a, b) }}"), 15).model
    np.testing.assert_array_equal(run(result, given)[0], function(given["a"], given["b"]))


def test_bitwise_broadcasts():
    proto = model("g (int32[2,1,3] a, int32[4,1] b) => (int32[2,4,3] y) { y = BitwiseAnd (a, b) }")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(2**31), 2**31, size=shape, dtype=np.int32) for shape in ((2, 1, 3), (4, 1)))
    assert_same(proto, 11, {"a": a, "b": b})


@pytest.mark.parametrize("kind", TYPES)
def test_bitwise_not(kind):
    assert_same(model(f"g ({kind}[N] a) => ({kind}[N] y) {{ y = BitwiseNot (a) }}"), 15, {"a": values(kind)})


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction, function", [("LEFT", np.left_shift), ("RIGHT", np.right_shift)])
def test_unsigned_shift(kind, direction, function):
    a, by = values(kind), np.arange(np.iinfo(kind).bits, dtype=kind)
    given = {"a": np.repeat(a, len(by)), "b": np.tile(by, len(a))}
    proto = model(f'g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = BitShift <direction="{direction}"> (a, b) }}', 13)
    np.testing.assert_array_equal(
        run(convert_version(proto, 9).model, given, quotient_runtime(kind))[0], function(given["a"], given["b"])
    )


@pytest.mark.skipif(not known(28), reason="onnx has no opset 28")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shift_of_opset_28(kind, direction):
    """Expected numbers from Python's own integers, which have no width."""
    bits, limits = np.iinfo(kind).bits, np.iinfo(kind)
    by = np.array(sorted({0, 1, bits - 1, bits, min(bits + 1, limits.max), limits.max, max(limits.min, -1)}), kind)
    a = values(kind)
    given = {"a": np.repeat(a, len(by)), "b": np.tile(by, len(a))}

    def shift(number: int, n: int) -> int:
        if not 0 <= n < bits:
            return -1 if direction == "RIGHT" and number < 0 else 0
        wide = (number << n) % 2**bits if direction == "LEFT" else number >> n
        return wide - 2**bits if wide > limits.max else wide

    expected = np.array([shift(int(x), int(n)) for x, n in zip(given["a"], given["b"], strict=True)], kind)
    proto = model(f'g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = BitShift <direction="{direction}"> (a, b) }}', 28)
    np.testing.assert_array_equal(run(convert_version(proto, 18).model, given)[0], expected)


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("source, number, target", [("int32", 12, "uint32"), ("uint64", 7, "int64"), ("uint16", 5, "int16")])
def test_bits_of_integers(source, number, target):
    proto = model(f"g ({source}[N] a) => ({target}[N] y) {{ y = BitCast <to={number}> (a) }}", 26)
    given = values(source)
    np.testing.assert_array_equal(run(convert_version(proto, 13).model, {"a": given})[0], given.view(target))


FLOATS = {
    "float": ("int32", "uint32", np.float32, 23),
    "double": ("int64", "uint64", np.float64, 52),
    "float16": ("int16", "uint16", np.float16, 10),
}


def patterns(bits: int, fraction: int) -> np.ndarray:
    """Zeros, the smallest, the edges of each exponent, infinities, some NaN, and bits by chance."""
    exponents = np.arange(2 ** (bits - 1 - fraction), dtype=np.uint64) << np.uint64(fraction)
    edges = np.concatenate([exponents, exponents + np.uint64(1), exponents[1:] - np.uint64(1)])
    chance = np.random.default_rng(5).integers(0, 2**bits - 1, 3000, np.uint64, endpoint=True)
    found = np.concatenate([edges, edges + np.uint64(2 ** (bits - 1)), chance])
    return found.astype(f"uint{bits}")


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
