"""Softmax, LogSoftmax and Hardmax on both sides of opset 13."""

import numpy as np
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, model, refusal

OPERATORS = ["Softmax", "LogSoftmax", "Hardmax"]


def test_refuses_an_axis_of_unknown_rank():
    proto = model("g (float[2,3,4] x, int64[K] s) => (float[A,B] y) { t = Reshape (x, s) y = Softmax <axis=1> (t) }", 13)
    assert "Softmax '" in (message := refusal(proto, 12)) and "the rank of 't' is unknown" in message


def sample(*shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


UP = [
    pytest.param("[2,3,4]", "", ["Flatten", "Op", "Reshape"], id="default axis 1"),
    pytest.param("[2,3,4]", "<axis=0>", ["Flatten", "Op", "Reshape"], id="all of it"),
    pytest.param("[2,3,4]", "<axis=-2>", ["Flatten", "Op", "Reshape"], id="negative"),
    pytest.param("[2,3,4]", "<axis=2>", ["Op"], id="last axis"),
    pytest.param("[2,3,4]", "<axis=-1>", ["Op"], id="last axis, negative"),
    pytest.param("[2,3]", "", ["Op"], id="matrix"),
    pytest.param("[N,3]", "", ["Op"], id="matrix of any length"),
    pytest.param("[2,3,1,1]", "", ["Op"], id="only ones after it"),
    pytest.param("[2,1,3,1]", "", ["Op"], id="one dimension left that is longer"),
    pytest.param("[2,1,1]", "", ["Op"], id="none is longer"),
    pytest.param("[N,3,4]", "", ["Shape", "Flatten", "Op", "Reshape"], id="any batch"),
    pytest.param("[A,B,C]", "<axis=-2>", ["Shape", "Flatten", "Op", "Reshape"], id="nothing known but the rank"),
]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("shape, axis, nodes", UP)
def test_up(op, shape, axis, nodes):
    proto = model(f"g (float{shape} x) => (float{shape} y) {{ y = {op} {axis} (x) }}", 11)
    sizes = [int(dim) if dim.isdigit() else size for dim, size in zip(shape[1:-1].split(","), (2, 3, 4, 5), strict=False)]
    result = assert_same(proto, 18, {"x": sample(*sizes)})
    assert sorted(node.op_type for node in result.graph.node) == sorted(op if name == "Op" else name for name in nodes)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (2, 0, 4), (0, 3, 0)])
@pytest.mark.parametrize("text", ["[A,B,C]", "[N,3,C]", "[A,3,4]", None])
def test_up_of_an_empty_tensor(shape, text):
    if text == "[A,3,4]" and shape[1:] != (3, 4):
        pytest.skip("does not fit")
    text = text or f"[{','.join(map(str, shape))}]"
    shape = (shape[0], 3, shape[2]) if ",3," in text else shape
    proto = model(f"g (float{text} x) => (float{text} y) {{ y = Softmax <axis=1> (x) }}", 11)
    assert_same(proto, 18, {"x": sample(*shape)})


def test_up_without_a_rank():
    proto = model("g (float[2,3,4] x, int64[K] s) => (float[A,B,C,D] y) { t = Reshape (x, s) y = Softmax (t) }", 11)
    assert_same(proto, 18, {"x": sample(2, 3, 4), "s": np.array([2, 2, 3, 2])})


DOWN = [
    pytest.param("[2,3,4]", "", ["Op"], id="default axis -1"),
    pytest.param("[2,3,4]", "<axis=2>", ["Op"], id="last axis"),
    pytest.param("[2,3,4]", "<axis=1>", ["Transpose", "Op", "Transpose"], id="middle axis"),
    pytest.param("[A,B,C]", "<axis=-3>", ["Transpose", "Op", "Transpose"], id="first axis, negative"),
    pytest.param("[2,3,1,1]", "<axis=1>", ["Op"], id="only ones after it"),
    pytest.param("[2,3]", "<axis=0>", ["Transpose", "Op", "Transpose"], id="first axis of a matrix"),
]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("shape, axis, nodes", DOWN)
@pytest.mark.parametrize("target", [12, 9])
def test_down(op, shape, axis, nodes, target):
    proto = model(f"g (float{shape} x) => (float{shape} y) {{ y = {op} {axis} (x) }}", 13)
    sizes = [int(dim) if dim.isdigit() else size for dim, size in zip(shape[1:-1].split(","), (2, 3, 4, 5), strict=False)]
    result = assert_same(proto, target, {"x": sample(*sizes)})
    assert [node.op_type for node in result.graph.node] == [op if name == "Op" else name for name in nodes]


def test_hardmax_takes_the_first_of_equals_along_its_axis():
    proto = model("g (float[2,3] x) => (float[2,3] y) { y = Hardmax <axis=0> (x) }", 13)
    assert_same(proto, 11, {"x": np.ones((2, 3), np.float32)})


def test_the_last_axis_needs_no_rank():
    proto = model("g (float[2,3,4] x, int64[K] s) => (float[A,B] y) { t = Reshape (x, s) y = Softmax (t) }", 13)
    assert_same(proto, 12, {"x": sample(2, 3, 4), "s": np.array([4, 6])})


@pytest.mark.parametrize(
    ("kind", "op", "inexact"), [("float16", "Softmax", True), ("float16", "Hardmax", False), ("float", "Softmax", False)]
)
@pytest.mark.parametrize(("opset", "target"), [(11, 20), (20, 11)])
def test_only_narrow_types_may_run_by_another_kernel(kind: str, op: str, inexact: bool, opset: int, target: int) -> None:
    """onnxruntime 1.31 gives one of these 80 elements another last bit at opset 20 than at 11."""
    proto = model(f"g ({kind}[5,A,B] x) => ({kind}[5,A,B] y) {{ y = {op} <axis=1> (x) }}", opset)
    report = convert_version(proto, target, compare="required").report
    assert bool(report.inexact) is inexact


def test_a_rank_that_is_worked_out_where_no_shape_was_inferred() -> None:
    text = (
        "g (float[3,6] x) => (float[A,B] p, float[C,D] y) <int64[2] s = {1, 2}> {"
        "t = Identity(s)\n p, q = Split<axis = 0>(x, t)\n y = Softmax<axis = 0>(q)}"
    )
    assert_compares_equal(model(text, 15), 9)


REWRITES = [
    (
        "softmax.along_one_axis",
        12,
        13,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
        "<int64[3] v3 = {2, 3, 4}> { v1 = Flatten <axis = 1> (x) v2 = Softmax <axis = 1> (v1) y = Reshape (v2, v3) }",
    ),
    (
        "softmax.over_the_last_dimensions",
        13,
        12,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
        "{ v1 = Transpose <perm = [0, 2, 1]> (x) v2 = Softmax <axis = 2> (v1) y = Transpose <perm = [0, 2, 1]> (v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
