"""Shape: start and end below opset 15."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model

X = np.zeros((2, 3, 4), np.float32)
BOUNDS = [
    "start = 1",
    "end = -1",
    "start = -2, end = 3",
    "start = -9, end = 9",
    "start = 2, end = 1",
    "start = -1",
    "start = 0",
]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("shape", ["2, N, 4", "2, 3, 4"])
@pytest.mark.parametrize("target", [14, 10, 9])
def test_a_part_of_the_shape(bounds: str, shape: str, target: int) -> None:
    assert_same(model(f"g (float[{shape}] x) => (int64[M] y) {{ y = Shape <{bounds}> (x) }}", opset=15), target, {"x": X})


@pytest.mark.parametrize("bounds", BOUNDS)
def test_of_an_unknown_rank(bounds: str) -> None:
    text = f"g (float[24] x, int64[N] s) => (int64[M] y) {{ r = Reshape (x, s) y = Shape <{bounds}> (r) }}"
    assert_same(model(text, opset=15), 13, {"x": X.reshape(-1), "s": np.array([2, 3, 4])})


def test_the_whole_shape_stays_a_shape() -> None:
    result = assert_same(model("g (float[2, N, 4] x) => (int64[3] y) { y = Shape <start = 0> (x) }", opset=15), 13, {"x": X})
    assert [node.op_type for node in result.graph.node] == ["Shape"]


REWRITES = [
    (
        "shape.slice_of_shape",
        15,
        14,
        "g (float[2,N,4] x) => (int64[1] y) { y = Shape <end = 2, start = 1> (x) }",
        "<int64[1] v2 = {1}, int64[1] v3 = {2}> { v1 = Shape (x) y = Slice (v1, v2, v3) }",
    ),
    (  # one length of which an input is the origin, asked of two values
        "shape.slice_of_shape",
        15,
        14,
        """g (float[N,4] x) => (int64[1] y, int64[1] z) {
        a = Sin (x) y = Shape <end = 1, start = 0> (a) b = Transpose (a) c = Shape <end = 2, start = 1> (b) z = Neg (c) }""",
        "<int64[1] v2 = {0}, int64[1] v3 = {1}> { v1 = Shape (x) y = Slice (v1, v2, v3) v4 = Slice (v1, v2, v3) z = Neg (v4) }",
    ),
    (  # two inputs of the same symbol: nobody says that their lengths are equal
        "shape.slice_of_shape",
        15,
        14,
        "g (float[N,4] x, float[N,4] w) => (int64[1] y) { a = Sin (w) y = Shape <end = 1, start = 0> (a) }",
        "<int64[1] v3 = {0}, int64[1] v4 = {1}> { v1 = Sin (w) v2 = Shape (v1) y = Slice (v2, v3, v4) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
