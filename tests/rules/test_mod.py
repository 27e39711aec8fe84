"""Mod: floor or truncation for every type from opset 28 on."""

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, refusal, run
from special_values import INTEGER_TYPES, integer_pairs, quotient_runtime

from split_rewrite.rewriter.opsets.transitions import newest_opset

FLOAT_TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16}
SINCE_28 = pytest.mark.skipif(newest_opset() < 28, reason="the installed onnx has no opset 28")

A, B = np.array([7, -7, 7, -7, 6, -6, 0, 5]), np.array([3, 3, -3, -3, 3, -3, -3, 5])


def converted(kind, fmod, target):
    text = f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod <fmod={fmod}> (a, b) }}"
    return convert_version(model(text, 28), target).model


@SINCE_28
@pytest.mark.parametrize("target", [27, 13])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_truncating_integers(dtype, target):
    a, b = A.astype(dtype), B.astype(dtype)
    np.testing.assert_array_equal(run(converted(dtype, 1, min(target, 24)), {"a": a, "b": b})[0], np.fmod(a, b))


@SINCE_28
@pytest.mark.parametrize("target", [24, 13])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_flooring_floats(dtype, target):
    a = np.concatenate([A, [5.5, -5.5, 1e-30, -0.0, 0.0, np.nan, 1, np.inf, 2, -2, 2]]).astype(dtype)
    b = np.concatenate([B, [0.7, 0.7, -3, -3, 3, 1, np.nan, 2, np.inf, np.inf, -np.inf]]).astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = np.mod(a, b)
    got = run(converted("float" if dtype == "float32" else "double", 0, target), {"a": a, "b": b})[0]
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[expected == 0]), np.signbit(expected[expected == 0]))


@SINCE_28
@pytest.mark.parametrize("kind, fmod", [("int64", 0), ("float", 1)])
def test_what_13_has_stays(kind, fmod):
    assert [node.op_type for node in converted(kind, fmod, 13).graph.node] == ["Mod"]


@pytest.mark.parametrize("kind", INTEGER_TYPES)
@pytest.mark.parametrize("target", [9, 7])
def test_mod_has_the_sign_of_the_divisor(kind, target):
    given = integer_pairs(kind, divisors=True)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod (a, b) }}", 13), target).model
    np.testing.assert_array_equal(run(result, given, quotient_runtime(kind))[0], np.mod(given["a"], given["b"]))


@pytest.mark.parametrize("kind", INTEGER_TYPES)
def test_fmod_of_integers_has_the_sign_of_the_dividend(kind):
    given = integer_pairs(kind, divisors=True)
    result = convert_version(model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod <fmod=1> (a, b) }}", 11), 9).model
    np.testing.assert_array_equal(run(result, given, quotient_runtime(kind))[0], np.fmod(given["a"], given["b"]))


@pytest.mark.parametrize("kind", FLOAT_TYPES)
def test_refuses_the_flooring_remainder_of_floats_below_10(kind):
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod (a, b) }}", 13)
    assert "the remainder of these numbers cannot be computed exactly by older operators" in refusal(proto, 9)


def float_limits(dtype) -> np.ndarray:
    info, rng = np.finfo(dtype), np.random.default_rng(3)
    special = [0.0, 1, 3, 0.7, 5.5, 2.5, 100, info.max, info.max / 2, info.tiny, info.tiny / 3, np.inf, np.nan]
    smallest = [float(info.smallest_subnormal) * times for times in (1, 2, 3, 5, 7)]
    spread = 2.0 ** rng.uniform(np.log2(info.tiny) / 1.01, np.log2(float(info.max)) / 1.01, 40) * rng.uniform(0.5, 1, 40)
    found = np.concatenate([special, smallest, spread]).astype(dtype)
    return np.concatenate([found, -found])


@pytest.mark.parametrize("kind", FLOAT_TYPES)
@pytest.mark.parametrize("target", [9, 8, 7])
def test_fmod_of_floats_below_10(kind, target):
    """onnxruntime has no Min of double below opset 8."""
    runtime = "onnx.reference" if (kind, target) == ("double", 7) else "onnxruntime"
    b = float_limits(FLOAT_TYPES[kind])
    a = b[:, None]
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    proto = model(f"g ({kind}[N, 1] a, {kind}[M] b) => ({kind}[N, M] y) {{ y = Mod <fmod=1> (a, b) }}", 13)
    got = run(convert_version(proto, target).model, {"a": a, "b": b}, runtime)[0]
    np.testing.assert_array_equal(got, expected, strict=True)
    counts = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[counts], np.signbit(expected)[counts])


@pytest.mark.parametrize("shape", [(0,), (), (1,)])
def test_fmod_of_each_rank(shape):
    proto = model("g (float[] a, float[] b) => (float[] y) { y = Mod <fmod=1> (a, b) }", 13)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.ClearField("dim")
        for size in shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
    a = np.full(shape, 7.5, np.float32)
    got = run(convert_version(proto, 9).model, {"a": a, "b": np.full(shape, -2, np.float32)})[0]
    np.testing.assert_array_equal(got, np.full(shape, 1.5, np.float32), strict=True)


REWRITES = [
    (
        "mod.write_out_other_fmod",
        28,
        27,
        "g (int64[2] a, int64[2] b) => (int64[2] y) { y = Mod <fmod = 1> (a, b) }",
        "{ v1 = Div (a, b) v2 = Mul (v1, b) y = Sub (a, v2) }",
    ),
    (
        "mod.remainder_of_division",
        10,
        9,
        "g (int32[2] a, int32[2] b) => (int32[2] y) { y = Mod <fmod = 1> (a, b) }",
        "{ v1 = Cast <to = 7> (a) v2 = Cast <to = 7> (b) v3 = Div (v1, v2) v4 = Mul (v3, v2) v5 = Sub (v1, v4) y = Cast <to = 6> (v5) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
