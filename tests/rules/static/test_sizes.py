"""What computes with shapes, as stored numbers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import Options, convert_version

STATIC = Options(static=True)
REWRITES = [
    (
        "sizes.stored",
        "g (float[2,3,4] x) => (float[6,4] y) <int64 i = {2}, int64[1] a = {0}, int64[1] m = {-1}> { s = Shape (x) n = Gather (s, i) r = Unsqueeze (n, a) t = Concat <axis = 0> (m, r) y = Reshape (x, t) }",
        "{ t = Constant <value = int64[2] {-1, 4}> () y = Reshape (x, t) }",
    ),
    (
        "sizes.cast",
        "g (float[2,7] x) => (float[1] y) <float z = {0}> { s = Shape <start = 1, end = 2> (x) n = Squeeze (s) o = CastLike (z, n) c = Range (o, n, n) d = Cast <to = 1> (c) y = Add (d, z) }",
        "<float z = {0}> { c = Constant <value = int64[1] {0}> () d = Cast <to = 1> (c) y = Add (d, z) }",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, 18, 18, STATIC)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_what_computes_shapes_is_gone(opset: int) -> None:
    text = """g (float[2,3,4] x) => (float[6,4] y) <int64 i = {2}, int64[1] j = {2}, int64[1] m = {-1}>
        { s = Shape (x) n = Gather (s, j) t = Concat <axis = 0> (m, n) y = Reshape (x, t) }"""
    result = convert_version(model(text, 18), opset, options=STATIC).model
    assert [node.op_type for node in result.graph.node if node.op_type != "Constant"] == ["Reshape"]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(run(result, {"x": x})[0], x.reshape(6, 4))


def test_real_numbers_and_large_values_stay() -> None:
    text = """g (float[2,3] x) => (float[2,3] y, int64[2000] z) <float h = {0.5}, int64 o = {0}, int64 n = {2000}, int64 k = {1}>
        { e = Sqrt (h) y = Mul (x, e) z = Range (o, n, k) }"""
    result = convert_version(model(text, 18), 18, options=STATIC).model
    assert [node.op_type for node in result.graph.node] == ["Sqrt", "Mul", "Range"]


@pytest.mark.parametrize("target", [7, 8])
def test_sizes_before_constants_of_integers(target: int) -> None:
    """Below opset 9 a Constant holds floats only, and a Cast of doubles stands for integers."""
    given = model("g (float[2,3] x) => (int64[2] y) { s = Shape (x) y = Identity (s) }", 8, 3)
    result = convert_version(given, target, options=STATIC).model
    np.testing.assert_array_equal(run(result, {"x": np.zeros((2, 3), np.float32)})[0], [2, 3])
    assert convert_version(result, target, options=STATIC).model == result
