"""Gather: negative indices below opset 11."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_refused_without_a_rank() -> None:
    text = "g (float[8] x, int64[N] s, int64[2] i) => (float[M] y) <int64[1] f = {-1}> {"
    text += " r = Reshape (x, s) t = Gather <axis = -1> (r, i) y = Reshape (t, f) }"
    assert "the rank of 'r' is unknown" in refusal(model(text, opset=13), 10)


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("indices", [[[-1, 0], [2, -3]], [[0, 1], [1, 2]], [[-1, -2], [-3, -1]]])
@pytest.mark.parametrize("target", [10, 9, 7])
def test_computed_indices(kind: str, indices: list[list[int]], target: int) -> None:
    proto = model(f"g (float[3, 4] x, {kind}[2, 2] i) => (float[2, 2, 4] y) {{ y = Gather (x, i) }}", opset=13)
    result = assert_same(proto, target, {"x": X, "i": np.array(indices, kind)})
    assert len(result.graph.node) > 1


def test_a_scalar_stays_a_scalar() -> None:
    proto = model("g (float[3, N] x, int64 i) => (float[3] y) { y = Gather <axis = 1> (x, i) }", opset=13)
    assert_same(proto, 9, {"x": X, "i": np.array(-2)})


def test_unknown_length() -> None:
    proto = model("g (float[N, M] x, int64[2] i) => (float[N, 2] y) { y = Gather <axis = -1> (x, i) }", opset=13)
    assert_same(proto, 9, {"x": X, "i": np.array([-4, 3])})


def test_constant_indices_are_computed_once() -> None:
    proto = model("g (float[3, 4] x) => (float[2, 4] y) <int64[2] i = {-1, 0}> { y = Gather (x, i) }", opset=13)
    result = assert_same(proto, 9, {"x": X})
    assert [node.op_type for node in result.graph.node] == ["Gather"]


def test_constant_indices_of_an_unknown_length() -> None:
    proto = model("g (float[N, 4] x) => (float[2, 4] y) <int64[2] i = {-1, 0}> { y = Gather (x, i) }", opset=13)
    assert_same(proto, 9, {"x": X})


@pytest.mark.parametrize(
    "indices",
    [
        pytest.param("i = ArgMax <axis = 1, keepdims = 0> (x)", id="ArgMax"),
        pytest.param("s = Shape (x) z = Constant <value_ints = [0]> () i = Gather (s, z)", id="part_of_a_shape"),
        pytest.param("v, t = TopK <axis = 0> (f, k) i = Identity (t)", id="TopK"),
    ],
)
def test_never_negative_indices_stay(indices: str) -> None:
    text = f"g (float[3, N] x, float[3] f) => (float[M, N] y) <int64[1] k = {{2}}> {{ {indices} y = Gather (x, i) }}"
    result = convert_version(model(text, opset=13), 10).model
    assert "Less" not in {node.op_type for node in result.graph.node}


def test_upward_nothing_changes() -> None:
    proto = model("g (float[3, 4] x, int64[2] i) => (float[2, 4] y) { y = Gather (x, i) }", opset=9)
    assert convert_version(proto, 13).model.graph.node[0] == proto.graph.node[0]


REWRITES = [
    (
        "gather.indices_from_the_front",
        11,
        10,
        "g (float[3,4] x) => (float[2,4] y) <int64[2] i = {-1, 0}> { y = Gather (x, i) }",
        "<int64[2] v1 = {2, 0}> { y = Gather (x, v1) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
