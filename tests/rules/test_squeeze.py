"""Squeeze and Unsqueeze: axes between attribute and input, negative, and computed."""

from __future__ import annotations

from typing import Literal

import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, model, refusal, run

from split_rewrite.rewriter import Options

pytestmark = pytest.mark.quick

X = np.arange(6, dtype=np.float32).reshape(1, 2, 1, 3)


@pytest.mark.parametrize(
    ("text", "opset", "target", "message"),
    [
        pytest.param(
            "g (float[1, 2, 1, 3] x, int64[N] a) => (float[M] y) <int64[1] f = {-1}> { t = Squeeze (x, a) y = Reshape (t, f) }",
            *(13, 12, "the number of the axes 'a' is known at run time only"),
            id="unknown_number_of_computed_axes",
        ),
        pytest.param(
            "g (float[1, 2, 1, 3] x, int64[N] a) => (float[M] y) <int64[1] f = {-1}> { t = Unsqueeze (x, a) y = Reshape (t, f) }",
            *(13, 12, "the number of the axes 'a' is known at run time only"),
            id="unknown_number_of_new_axes",
        ),
        pytest.param(
            "g (float[1, 2, N] x) => (float[A, B, C] y) <int64[0] a = {}> { y = Squeeze (x, a) }",
            *(13, 12, "empty axes remove no dimension, and onnxruntime removes all dimensions of 1, as without axes"),
            id="empty_axes",
        ),
    ],
)
def test_refused(text: str, opset: int, target: int, message: str) -> None:
    assert message in refusal(model(text, opset), target)


def _axes(result: onnx.ModelProto) -> list[int]:
    return next(list(a.ints) for a in result.graph.node[0].attribute if a.name == "axes")


EMPTY_AXES = (
    "g (float[1, 2, 1] x) => (float[%s] y) <int64[0] a = {}, int64[1] one = {0}> { t = Squeeze (x, a) y = Unsqueeze (t, one) }"
)


@pytest.mark.parametrize(
    ("semantics", "shape", "op_types"),
    [
        ("specification", "1, 1, 2, 1", ["Unsqueeze"]),
        ("onnxruntime", "1, 2", ["Squeeze", "Unsqueeze"]),
    ],
)
def test_empty_axes_mean_what_the_caller_says(
    semantics: Literal["specification", "onnxruntime"], shape: str, op_types: list[str]
) -> None:
    proto = model(EMPTY_AXES % shape, opset=13)
    result = convert_version(proto, 12, options=Options(semantics=semantics))
    assert [node.op_type for node in result.model.graph.node] == op_types
    (y,) = run(result.model, {"x": np.ones((1, 2, 1), np.float32)})
    assert list(y.shape) == [int(size) for size in shape.split(",")]


def test_constant_axes_go_down_and_up() -> None:
    down = model("g (float[1, 2, 1, 3] x) => (float[2, 3] y) <int64[2] a = {0, -2}> { y = Squeeze (x, a) }", opset=13)
    assert _axes(assert_same(down, 12, {"x": X})) == [0, -2]
    assert _axes(assert_same(down, 9, {"x": X})) == [0, 2]
    up = model("g (float[1, 2, 1, 3] x) => (float[2, 3] y) { y = Squeeze <axes = [0, 2]> (x) }", opset=9)
    assert len(assert_same(up, 21, {"x": X}).graph.node[0].input) == 2


def test_new_axes_count_from_the_front_of_the_output() -> None:
    proto = model("g (float[2, 3] x) => (float[1, 2, 3, 1] y) <int64[2] a = {-1, 0}> { y = Unsqueeze (x, a) }", opset=13)
    assert _axes(assert_same(proto, 9, {"x": X.reshape(2, 3)})) == [3, 0]


def test_absent_axes_stay_absent() -> None:
    proto = model("g (float[1, 2, 1, 3] x) => (float[2, 3] y) { y = Squeeze (x) }", opset=13)
    assert not assert_same(proto, 9, {"x": X}).graph.node[0].attribute


@pytest.mark.parametrize("axes", [[0, 2], [-2, 0], [2, 0]])
@pytest.mark.parametrize("target", [12, 9, 7])
def test_computed_axes_of_squeeze(axes: list[int], target: int) -> None:
    proto = model("g (float[1, 2, 1, 3] x, int64[2] a) => (float[2, 3] y) { y = Squeeze (x, a) }", opset=13)
    assert_same(proto, target, {"x": X, "a": np.array(axes)})


@pytest.mark.parametrize("axes", [[0, 1], [-1, 0], [3, 1], [2, -4]])
@pytest.mark.parametrize("target", [12, 9, 7])
def test_computed_axes_of_unsqueeze(axes: list[int], target: int) -> None:
    proto = model("g (float[2, 3] x, int64[2] a) => (float[A, B, C, D] y) { y = Unsqueeze (x, a) }", opset=13)
    assert_same(proto, target, {"x": X.reshape(2, 3), "a": np.array(axes)})


def test_computed_axes_of_an_empty_tensor() -> None:
    proto = model("g (float[N, 3] x, int64[1] a) => (float[A, B, C] y) { y = Unsqueeze (x, a) }", opset=13)
    assert_same(proto, 12, {"x": np.zeros((0, 3), np.float32), "a": np.array([1])})


def test_a_number_becomes_a_tensor() -> None:
    proto = model("g (float x, int64[2] a) => (float[A, B] y) { y = Unsqueeze (x, a) }", opset=13)
    assert_same(proto, 9, {"x": np.array(3, np.float32), "a": np.array([0, 1])})


def test_axes_out_of_order() -> None:
    text = "g (float[1,N,1] x) => (float[N] y) <int64[2] a = {2, 0}> {y = Squeeze(x, a)}"
    assert_compares_equal(model(text, 13), 4)


def test_axes_out_of_order_in_an_attribute() -> None:
    text = "g (float[1,N,1,1] x) => (float[N] y) {y = Squeeze<axes = [-4, -1, -2]>(x)}"
    assert_compares_equal(model(text, 12), 5)


def test_axes_from_both_ends() -> None:
    text = "g (float[1,N,1] x) => (float[N] y) <int64[2] a = {-1, 0}> {y = Squeeze(x, a)}"
    assert_compares_equal(model(text, 13), 12)


def test_axes_that_are_computed_and_leave_nothing() -> None:
    proto = model("g (float[1,1] x, int64[2] a) => (float y) {y = Squeeze(x, a)}", 13)
    assert_same(proto, 9, {"x": np.ones((1, 1), np.float32), "a": np.array([1, 0])})


REWRITES = [
    (
        "squeeze.axes_to_attribute",
        13,
        12,
        "g (float[1,2] x) => (float[2] y) <int64[1] a = {0}> { y = Squeeze (x, a) }",
        "{ y = Squeeze <axes = [0]> (x) }",
    ),
    (
        "squeeze.axes_to_input",
        12,
        13,
        "g (float[1,2] x) => (float[2] y) { y = Squeeze <axes = [0]> (x) }",
        "<int64[1] v1 = {0}> { y = Squeeze (x, v1) }",
    ),
    (
        "squeeze.new_axes_from_the_front",
        11,
        10,
        "g (float[2] x) => (float[2,1] y) { y = Unsqueeze <axes = [-1]> (x) }",
        "{ y = Unsqueeze <axes = [1]> (x) }",
    ),
    (
        "squeeze.squeezed_axes_from_the_front",
        11,
        10,
        "g (float[2,1] x) => (float[2] y) { y = Squeeze <axes = [-1]> (x) }",
        "{ y = Squeeze <axes = [1]> (x) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
