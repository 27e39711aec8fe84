"""TopK: k between attribute and input; largest, sorted; types."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, convert_version, known, model, refusal, run

X = np.array([[3, -1, 3, 0, -0.0], [2, -2, 5, np.inf, -np.inf], [1, 1, 1, 1, 0]], np.float32)


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        pytest.param(
            "g (int64[3, N] x) => (int64[3, 2] v, int64[3, 2] i) <int64[1] k = {2}> { v, i = TopK (x, k) }",
            *(9, "64-bit integers are sorted along the whole axis: the axis dimension 'N' of"),
            id="all_are_sorted_by_their_low_halves_first",
        ),
        pytest.param(
            "g (float[3, N] x, int64[1] k) => (float[3, M] v, int64[3, M] i) { v, i = TopK (x, k) }",
            *(9, "the axis dimension 'N' of 'x' is unknown"),
            id="computed_k_of_an_unknown_length",
        ),
        pytest.param(
            "g (float[3, 0] x, int64[1] k) => (float[3, M] v, int64[3, M] i) { v, i = TopK (x, k) }",
            *(9, "its axis is empty, and before opset 10 TopK takes no k below 1"),
            id="computed_k_of_nothing",
        ),
        pytest.param(
            "g (float[3, 5] x) => (float[3, 0] v, int64[3, 0] i) <int64[1] k = {0}> { v, i = TopK (x, k) }",
            *(9, "k is 0, and before opset 10 TopK takes no k below 1"),
            id="nothing_is_taken",
        ),
    ],
)
def test_refused(text: str, target: int, message: str) -> None:
    assert message in refusal(model(text, opset=11), target)


def _topk(attributes: str, kind: str = "float") -> str:
    return f"g ({kind}[3, 5] x) => ({kind}[A, B] v, int64[A, B] i) <int64[1] k = {{3}}> {{ v, i = TopK <{attributes}> (x, k) }}"


@pytest.mark.parametrize("attributes", ["axis = -1", "axis = 0", "axis = -2", "axis = 1, sorted = 1"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("target", [10, 9, 7])
def test_constant_k(attributes: str, largest: int, target: int) -> None:
    assert_same(model(_topk(f"{attributes}, largest = {largest}"), opset=13), target, {"x": X})


def test_an_open_order_may_be_the_sorted_one() -> None:
    result = convert_version(model(_topk("sorted = 0"), opset=13), 10).model
    assert [node.op_type for node in result.graph.node] == ["TopK"]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "double"])
@pytest.mark.parametrize("largest", [0, 1])
def test_other_types(kind: str, largest: int) -> None:
    info = np.finfo(kind) if kind == "double" else np.iinfo(kind)
    x = np.array([info.min, info.max, 1, 2, 1], kind)[None].repeat(3, 0)
    if kind not in ("int32", "double"):  # onnxruntime has no TopK of the others
        result = convert_version(model(_topk(f"largest = {largest}", kind), opset=13), 10).model
        order = np.argsort(x.astype(np.float64) * (1 - 2 * largest), axis=1, kind="stable")[:, :3]
        values, indices = run(result, {"x": x})
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1), strict=True)
        return
    assert_same(model(_topk(f"largest = {largest}", kind), opset=13), 10, {"x": x})


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("k", [1, 5])
def test_computed_k(largest: int, k: int) -> None:
    text = f"g (float[3, 5] x, int64[1] k) => (float[A, B] v, int64[A, B] i) {{ v, i = TopK <largest = {largest}> (x, k) }}"
    assert_same(model(text, opset=13), 9, {"x": X, "k": np.array([k])})


def test_upward() -> None:
    proto = model("g (float[3, 5] x) => (float[3, 2] v, int64[3, 2] i) { v, i = TopK <k = 2> (x) }", opset=9)
    assert [node.op_type for node in assert_same(proto, 13, {"x": X}).graph.node] == ["TopK"]


@pytest.mark.parametrize("kind", ["int64", "uint64"])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("target", [10, 9, 7])
def test_64_bits(kind: str, largest: int, axis: int, target: int) -> None:
    """onnxruntime has no Div of uint64."""
    if kind == "uint64" and not known(24):
        pytest.skip("the reference of old onnx divides uint64 as double")
    info = np.iinfo(kind)
    values = [info.min, info.min + 1, info.max, info.max - 1, info.max - 2**32, 0, 1, 2**32, 2**32 - 1, 2**32 + 1, 5, 5]
    x = np.random.default_rng(1).choice(np.array(values, kind), (7, 9))
    text = f"g ({kind}[7, 9] x) => ({kind}[A, B] v, int64[A, B] i) <int64[1] k = {{6}}> {{ v, i = TopK <axis = {axis}, largest = {largest}> (x, k) }}"
    order = np.argsort(~x if largest else x, axis, kind="stable").take(range(6), axis)
    got = run(convert_version(model(text, 13), target).model, {"x": x}, "onnxruntime" if kind == "int64" else "onnx.reference")
    np.testing.assert_array_equal(got[0], np.take_along_axis(x, order, axis), strict=True)
    np.testing.assert_array_equal(got[1], order)


@pytest.mark.parametrize("kept", ["v", "i"])
def test_64_bits_and_one_output(kept: str) -> None:
    kinds = {"v": "int64[A, B] v", "i": "int64[A, B] i"}
    text = f"g (int64[2, 3] x, int64[1] k) => ({kinds[kept]}) {{ v, i = TopK (x, k) }}"
    assert_same(model(text, 13), 10, {"x": np.array([[2**62, 2**62 + 1, 0], [-5, -4, -6]]), "k": np.array([2])})


def test_refuses_two_numbers_of_elements() -> None:
    text = "g (float[N] x, int64[R] s) => (float[A] y, int64[B] i) <int64[2] k = {1, 2}> {r = Reshape(x, s)\n y, i = TopK(r, k)}"
    assert "a constant of shape [2] is given where a single number is needed" in refusal(model(text, 16), 9)


REWRITES = [
    (
        "topk.k_to_attribute",
        10,
        9,
        "g (float[3] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK (x, k) }",
        "{ y, i = TopK <k = 2> (x) }",
    ),
    (
        "topk.k_to_input",
        9,
        10,
        "g (float[3] x) => (float[2] y, int64[2] i) { y, i = TopK <k = 2> (x) }",
        "<int64[1] v1 = {2}> { y, i = TopK (x, v1) }",
    ),
    (
        "topk.largest_and_sorted",
        11,
        10,
        "g (float[3] x) => (float[2] y, int64[2] i) <int64[1] k = {2}> { y, i = TopK <largest = 0> (x, k) }",
        "<int64[1] v2 = {2}> { v1 = Neg (x) v3, i = TopK (v1, v2) y = Neg (v3) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
