"""Gemm: the optional C and the attribute broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(3, 4)
FEEDS = {"a": A, "b": B}


def test_a_c_of_unknown_shape_is_refused_below_7() -> None:
    proto = model("g (float[2, 3] a, float[3, 4] b, float[N, 4] c) => (float[2, 4] y) { y = Gemm (a, b, c) }", opset=7)
    assert "of 'c' is not fully known" in refusal(proto, 6)


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("target", [10, 9, 7])
def test_an_absent_c_is_zero(kind: str, target: int) -> None:
    proto = model(f"g ({kind}[2, 3] a, {kind}[3, 4] b) => ({kind}[2, 4] y) {{ y = Gemm <beta = 2.0> (a, b) }}", opset=13)
    assert_same(
        proto,
        target,
        {name: value.astype(np.dtype(kind).type if kind == "double" else np.float32) for name, value in FEEDS.items()},
    )


@pytest.mark.parametrize("attributes", ["", "<beta = 0.5>", "<alpha = 0.3>"])
def test_an_absent_c_changes_no_bit(attributes: str) -> None:
    """onnxruntime adds to what C begins with, and rounds otherwise than where there is none."""
    proto = model(f"g (float[5, 5] a, float[5, 1] b) => (float[5, 1] y) {{ y = Gemm {attributes} (a, b) }}", opset=13)
    random = np.random.default_rng(0)
    for _ in range(20):
        assert_same(proto, 9, {"a": random.random((5, 5), np.float32), "b": random.random((5, 1), np.float32)})


@pytest.mark.parametrize(
    ("shape", "broadcast", "extra"),
    [
        pytest.param("2, 4", 0, [], id="whole"),
        pytest.param("4", 1, [], id="row"),
        pytest.param("1, 4", 1, ["Reshape"], id="row_of_a_matrix"),
        pytest.param("1", 1, ["Reshape"], id="number_in_a_vector"),
        pytest.param("1, 1", 1, ["Reshape"], id="number_in_a_matrix"),
        pytest.param("2, 1", 0, ["Tile"], id="column"),
    ],
)
def test_broadcast_there_and_back(shape: str, broadcast: int, extra: list[str]) -> None:
    proto = model(f"g (float[2, 3] a, float[3, 4] b, float[{shape}] c) => (float[2, 4] y) {{ y = Gemm (a, b, c) }}", opset=7)
    c = np.arange(np.prod([int(d) for d in shape.split(",")]), dtype=np.float32).reshape([int(d) for d in shape.split(",")])
    old = convert_version(proto, 6).model
    gemm = old.graph.node[-1]
    assert [node.op_type for node in old.graph.node if node.op_type in ("Reshape", "Tile")] == extra
    assert {a.name: a.i for a in gemm.attribute}.get("broadcast", 0) == broadcast
    new = convert_version(old, 13).model
    np.testing.assert_array_equal(run(new, {**FEEDS, "c": c})[0], A @ B + c)


def test_transposed() -> None:
    text = "g (float[3, 2] a, float[4, 3] b, float[4] c) => (float[2, 4] y) { y = Gemm <transA = 1, transB = 1> (a, b, c) }"
    old = convert_version(model(text, opset=13), 6).model
    c = np.ones(4, np.float32)
    np.testing.assert_array_equal(run(convert_version(old, 9).model, {"a": A.T.copy(), "b": B.T.copy(), "c": c})[0], A @ B + c)


REWRITES = [
    (
        "gemm.add_zero",
        11,
        10,
        "g (float[2,3] a, float[3,4] b) => (float[2,4] y) { y = Gemm (a, b) }",
        "<float v1 = {0}> { y = Gemm <beta = 0.0> (a, b, v1) }",
    ),
    (
        "gemm.broadcast_to_attribute",
        7,
        6,
        "g (float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y) { y = Gemm (a, b, c) }",
        "{ y = Gemm <broadcast = 1> (a, b, c) }",
    ),
    (
        "gemm.drop_broadcast",
        6,
        7,
        "g (float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y) { y = Gemm <broadcast = 1> (a, b, c) }",
        "{ y = Gemm (a, b, c) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
