"""The remainder of floating point numbers below opset 10, to the last bit and the sign of zero."""

import numpy as np
import pytest
from helpers import convert_version, model, refusal, run

DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16}


@pytest.mark.parametrize("kind", DTYPES)
def test_refuses_what_is_not_defined(kind):
    proto = model(f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod (a, b) }}", 13)
    assert "the remainder of these numbers cannot be computed exactly by older operators" in refusal(proto, 9)


def numbers(dtype) -> np.ndarray:
    info, rng = np.finfo(dtype), np.random.default_rng(3)
    special = [0.0, 1, 3, 0.7, 5.5, 2.5, 100, info.max, info.max / 2, info.tiny, info.tiny / 3, np.inf, np.nan]
    smallest = [float(info.smallest_subnormal) * times for times in (1, 2, 3, 5, 7)]
    spread = 2.0 ** rng.uniform(np.log2(info.tiny) / 1.01, np.log2(float(info.max)) / 1.01, 40) * rng.uniform(0.5, 1, 40)
    found = np.concatenate([special, smallest, spread]).astype(dtype)
    return np.concatenate([found, -found])


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("target", [9, 8, 7])
def test_every_sign_and_size(kind, target):
    """onnxruntime has no Min of double below opset 8."""
    runtime = "onnx.reference" if (kind, target) == ("double", 7) else "onnxruntime"
    b = numbers(DTYPES[kind])
    a = b[:, None]
    with np.errstate(all="ignore"):
        expected = np.fmod(a, b)
    proto = model(f"g ({kind}[N, 1] a, {kind}[M] b) => ({kind}[N, M] y) {{ y = Mod <fmod=1> (a, b) }}", 13)
    got = run(convert_version(proto, target).model, {"a": a, "b": b}, runtime)[0]
    np.testing.assert_array_equal(got, expected, strict=True)
    counts = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[counts], np.signbit(expected)[counts])


@pytest.mark.parametrize("shape", [(0,), (), (1,)])
def test_shapes(shape):
    proto = model("g (float[] a, float[] b) => (float[] y) { y = Mod <fmod=1> (a, b) }", 13)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.ClearField("dim")
        for size in shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
    a = np.full(shape, 7.5, np.float32)
    got = run(convert_version(proto, 9).model, {"a": a, "b": np.full(shape, -2, np.float32)})[0]
    np.testing.assert_array_equal(got, np.full(shape, 1.5, np.float32), strict=True)
