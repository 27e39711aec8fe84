"""Mod: floor or truncation for every type from opset 28 on."""

import numpy as np
import pytest
from helpers import convert_version, model, run

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 28, reason="the installed onnx has no opset 28")

A, B = np.array([7, -7, 7, -7, 6, -6, 0, 5]), np.array([3, 3, -3, -3, 3, -3, -3, 5])


def converted(kind, fmod, target):
    text = f"g ({kind}[N] a, {kind}[N] b) => ({kind}[N] y) {{ y = Mod <fmod={fmod}> (a, b) }}"
    return convert_version(model(text, 28), target).model


@pytest.mark.parametrize("target", [27, 13])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_truncating_integers(dtype, target):
    a, b = A.astype(dtype), B.astype(dtype)
    np.testing.assert_array_equal(run(converted(dtype, 1, min(target, 24)), {"a": a, "b": b})[0], np.fmod(a, b))


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


@pytest.mark.parametrize("kind, fmod", [("int64", 0), ("float", 1)])
def test_what_13_has_stays(kind, fmod):
    assert [node.op_type for node in converted(kind, fmod, 13).graph.node] == ["Mod"]
