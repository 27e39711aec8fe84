"""GatherElements below opset 11: places only, so every bit of the data stays."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model

RNG = np.random.default_rng(7)
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "target, dims, index_dims",
    [
        (9, "3,4,5", "2,4,3"),
        (9, "A,B,C", "D,E,F"),
        (9, "A,4,5", "2,E,3"),
        (7, "3,4,5", "2,4,3"),
        (8, "A,B,C", "D,E,F"),
        (7, "A,4,5", "2,E,3"),
    ],
)
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_gather_elements(axis, target, dims, index_dims, kind):
    proto = model(
        f"g (float[{dims}] x, {kind}[{index_dims}] i) => (float[{index_dims}] y) {{ y = GatherElements <axis={axis}> (x, i) }}", 11
    )
    i = RNG.integers(-3, 3, size=(2, 4, 3)).astype(kind)
    assert_same(proto, target, {"x": np.resize(SPECIAL, (3, 4, 5)), "i": i})


@pytest.mark.parametrize("target", [9, 8])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_gather_elements_of_a_vector(count, target):
    proto = model("g (float[N] x, int64[K] i) => (float[K] y) { y = GatherElements (x, i) }", 11)
    result = assert_same(proto, target, {"x": SPECIAL, "i": RNG.integers(-5, 5, size=count)})
    assert {tensor.name for tensor in result.graph.initializer} <= {name for node in result.graph.node for name in node.input}


@pytest.mark.parametrize("target", [9, 8])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_gather_no_elements(shape, target):
    proto = model("g (float[A,B] x, int64[C,D] i) => (float[C,D] y) { y = GatherElements <axis=1> (x, i) }", 11)
    assert_same(proto, target, {"x": np.resize(SPECIAL, (2, 5)), "i": np.zeros(shape, np.int64)})


REWRITES = [
    (
        "gather_elements.gather_flat",
        11,
        10,
        "g (float[3] x, int64[2] i) => (float[2] y) { y = GatherElements (x, i) }",
        """<int64 v1 = {0}, int64 v3 = {3}>
        {
        v2 = Less (i, v1)
        v4 = Add (i, v3)
        v5 = Where (v2, v4, i)
        y = Gather <axis = 0> (x, v5)
        }""",
    ),
    (
        "gather_elements.gather_flat",
        11,
        10,
        "g (float[2,3] x) => (float[2,1] y) <int64[2,1] i = {-1, 0}> { y = GatherElements <axis = 1> (x, i) }",
        """
            <int64[1] flat = {-1}, int64[2,1] places = {2, 3}>
            {
              flat_2 = Reshape (x, flat)
              y = Gather <axis = 0> (flat_2, places)
            }
        """,
    ),
    (
        "gather_elements.gather_flat",
        11,
        10,
        "g (float[2,3] x, int64[2,1] i) => (float[2,1] y) { y = GatherElements <axis = 1> (x, i) }",
        """<int64 v1 = {0}, int64 v3 = {3}, int64[2,1] v6 = {0,3}, int64[1] v8 = {-1}>
        {
        v2 = Less (i, v1)
        v4 = Add (i, v3)
        v5 = Where (v2, v4, i)
        v7 = Add (v5, v6)
        v9 = Reshape (x, v8)
        y = Gather <axis = 0> (v9, v7)
        }""",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
