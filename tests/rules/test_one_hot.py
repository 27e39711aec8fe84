"""OneHot: indices that count from the back, and the axis."""

from pathlib import Path

import numpy as np
import pytest
from fitting import for_a_list
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run
from onnx import numpy_helper


def proto(opset, axis="", kind="int64", constants=""):
    inputs = f"{kind}[N] i" if not constants else "float[1] unused"
    text = (
        f"g ({inputs}) => (float[A,B] y) <{constants}int64 d = {{4}}, float[2] v = {{0.0, 1.0}}> {{ y = OneHot {axis} (i, d, v) }}"
    )
    return model(text, opset)


def cautions(opset, target, **how):
    return [remark.message for remark in convert_version(proto(opset, **how), target).report.remarks if remark.kind == "warning"]


def test_up_a_caution_where_an_index_may_be_negative():
    assert "indices that are negative selected nothing before opset 11" in cautions(9, 11)[0]


@pytest.mark.parametrize("how", [{"kind": "uint8"}, {"constants": "int64[2] i = {0, 3}, "}])
def test_up_none_where_no_index_is(how):
    assert cautions(9, 11, **how) == []


INDICES = np.array([0, 3, -1, -4, -5, -9, 4, 7])


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("axis", ["", "<axis=0>", "<axis=-2>"])
def test_down_indices_count_from_the_front(target, axis):
    wrapped = np.where((INDICES < 0) & (INDICES >= -4), INDICES + 4, INDICES)
    expected = (wrapped[:, None] == np.arange(4)).astype(np.float32)
    got = run(convert_version(proto(11, axis), target).model, {"i": INDICES})[0]
    np.testing.assert_array_equal(got, expected.T if axis else expected)


def test_down_what_cannot_be_negative_stays():
    assert [node.op_type for node in convert_version(proto(11, kind="uint8"), 9).model.graph.node] == ["OneHot"]


@pytest.mark.parametrize("axis", ["", "<axis=0>"])
def test_down_the_declared_shape_tells_the_depth(axis):
    shape = "4,N" if axis else "N,4"
    text = f"g (int64[N] i, int64 d) => (float[{shape}] y) <float[2] v = {{0.0, 1.0}}> {{ y = OneHot {axis} (i, d, v) }}"
    expected = (np.array([0, 3, 1, 7])[:, None] == np.arange(4)).astype(np.float32)
    got = run(convert_version(model(text, 9), 8).model, {"i": np.array([0, 3, 1, 7]), "d": np.array(4)})[0]
    np.testing.assert_array_equal(got, expected.T if axis else expected)


@pytest.mark.parametrize("opset", [9, 11])
@pytest.mark.parametrize("target", [8, 7])
def test_an_index_counts_from_the_back_where_the_depth_is_known(opset, target):
    assert_same(proto(opset), target, {"i": np.array([0, 3, -1, -4, -5, 4])})


@pytest.mark.parametrize("depth", ["nan", "inf", "1e18"])
def test_refuses_a_depth_that_is_no_length_below_9(depth: str) -> None:
    proto = model("g (int64[3] i, float[2] v) => (float[N,M] y) <double d = {0}> { y = OneHot (i, d, v) }", 9)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array(float(depth)), "d"))
    assert f"the depth is {float(depth):g}, and a table of its positions has at most 16,777,216 entries" in refusal(proto, 8)


def test_refuses_a_computed_depth_below_9():
    text = "g (int64[3] i, int64 d, float[2] v) => (float[3,N] y) { y = OneHot (i, d, v) }"
    assert "the older form needs the depth as a constant, and 'd' is computed at run time" in refusal(model(text, 9), 8)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_below_opset_9(axis):
    text = f"g (int64[2,3] i, float[2] v) => (float[A,B,C] y) <int64 d = {{4}}> {{ y = OneHot <axis={axis}> (i, d, v) }}"
    given = {"i": np.array([[0, 1, 2], [3, 9, 1]]), "v": np.array([-0.5, np.inf], np.float32)}
    assert_same(model(text, 9), 7, given)


REWRITES = [
    (
        "one_hot.choose_between_two_values",
        13,
        13,
        "g (uint8[2] i) => (float[2,3] y) <uint8 d = {3}, float[2] v = {2, 5}> { y = OneHot (i, d, v) }",
        """
            <float off = {2}, float on = {5}, int64[1] axis = {1}, int64[1,3] positions = {0, 1, 2}>
            {
              wide = Cast <to = 7> (i)
              indices = Unsqueeze (wide, axis)
              hot = Equal (indices, positions)
              y = Where (hot, on, off)
            }
        """,
    ),
    (
        "one_hot.compare_with_positions",
        9,
        8,
        "g (int64[2] i, float[2] v) => (float[2,3] y) <int64 d = {3}> { y = OneHot (i, d, v) }",
        """
            {
              indices = Unsqueeze <axes = [1]> (i)
              positions_double = Constant <value = double[1,3] {0, 1, 2}> ()
              positions = Cast <to = 7> (positions_double)
              hot = Equal (indices, positions)
              from_the_back_double = Constant <value = double[1,3] {-3, -2, -1}> ()
              from_the_back = Cast <to = 7> (from_the_back_double)
              hot_2 = Equal (indices, from_the_back)
              hot_3 = Or (hot, hot_2)
              hot_4 = Cast <to = 7> (hot_3)
              y = Gather <axis = 0> (v, hot_4)
            }
        """,
    ),
    (
        "one_hot.indices_from_the_front",
        11,
        10,
        "g (int64[2] i, float[2] v) => (float[2,3] y) <int64 d = {3}> { y = OneHot (i, d, v) }",
        """<int64 v1 = {0}, int64 v3 = {3}, float v7 = {0}>
        {
        v2 = Less (i, v1)
        v4 = Add (i, v3)
        v5 = Where (v2, v4, i)
        v6 = Cast <to = 1> (v5)
        v8 = Less (v6, v7)
        v9 = Cast <to = 7> (v8)
        v10 = Sub (v3, v5)
        v11 = Mul (v9, v10)
        v12 = Add (v5, v11)
        y = OneHot (v12, v3, v)
        }""",
    ),
    (
        "one_hot.indices_from_the_front",
        11,
        10,
        "g (uint8[2] i, float[2] v) => (float[3,2] y) <uint8 d = {3}> { y = OneHot <axis = -2> (i, d, v) }",
        "<uint8 d = {3}> { y = OneHot <axis = 0> (i, d, v) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_list(tmp_path, ["Cast", "Equal", "Unsqueeze", "Where"]) if opset == target else None
    result = assert_rewrites(before, after, rule, opset, target, options)
    if options is not None:
        np.testing.assert_array_equal(run(result, {"i": np.array([2, 0], np.uint8)})[0], [[2, 2, 5], [5, 2, 2]])
