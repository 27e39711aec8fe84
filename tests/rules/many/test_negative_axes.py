"""Negative axes below opset 11."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7


@pytest.mark.parametrize(
    "node",
    [
        pytest.param("ArgMax <axis = -1> (r)", id="one_axis"),
        pytest.param("ReduceMean <axes = [0, -1]> (r)", id="one_of_two_axes_is_negative"),
        pytest.param("Concat <axis = -1> (r, r)", id="Concat"),
    ],
)
def test_an_unknown_rank_is_refused(node: str) -> None:
    kind = "int64" if node.startswith("Arg") else "float"
    text = (
        f"g (float[8] x, int64[N] s) => ({kind}[M] y) <int64[1] f = {{-1}}> {{ r = Reshape (x, s) t = {node} y = Reshape (t, f) }}"
    )
    assert "the rank of 'r' is unknown" in refusal(model(text, opset=11), 10)


@pytest.mark.parametrize(
    ("node", "shape", "attribute", "expected"),
    [
        pytest.param("ArgMax <axis = -1> (x)", "2, 3, 1", "axis", 2, id="ArgMax"),
        pytest.param("ArgMin <axis = -3> (x)", "1, 3, 4", "axis", 0, id="ArgMin"),
        pytest.param("Concat <axis = -2> (x, x)", "2, 6, 4", "axis", 1, id="Concat"),
        pytest.param("Flatten <axis = -1> (x)", "6, 4", "axis", 2, id="Flatten"),
        pytest.param("Softmax <axis = -1> (x)", "2, 3, 4", "axis", 2, id="Softmax_11_flattens_from_the_axis"),
        pytest.param("LogSoftmax <axis = -2> (x)", "2, 3, 4", "axis", 1, id="LogSoftmax"),
        pytest.param("Hardmax <axis = -1> (x)", "2, 3, 4", "axis", 2, id="Hardmax"),
        pytest.param("ReduceMax <axes = [-1, 0], keepdims = 0> (x)", "3", "axes", [2, 0], id="ReduceMax_mixed"),
        pytest.param("ReduceSumSquare <axes = [-2]> (x)", "2, 1, 4", "axes", [1], id="ReduceSumSquare"),
        pytest.param("ArgMax <axis = 1> (x)", "2, 1, 4", "axis", 1, id="positive_stays"),
    ],
)
def test_counts_from_the_front(node: str, shape: str, attribute: str, expected: int | list[int]) -> None:
    kind = "int64" if node.startswith("Arg") else "float"
    proto = model(f"g (float[2, 3, 4] x) => ({kind}[{shape}] y) {{ y = {node} }}", opset=11)
    result = assert_same(proto, 9, {"x": X})
    found = {a.name: onnx.helper.get_attribute_value(a) for a in result.graph.node[0].attribute}
    assert found[attribute] == expected


def test_compress() -> None:
    proto = model("g (float[2, 3, 4] x, bool[3] c) => (float[2, N, 4] y) { y = Compress <axis = -2> (x, c) }", opset=11)
    result = assert_same(proto, 9, {"x": X, "c": np.array([True, False, True])})
    assert result.graph.node[0].attribute[0].i == 1


def test_without_an_axis_nothing_changes() -> None:
    proto = model("g (float[2, 3] x, bool[4] c) => (float[N] y) { y = Compress (x, c) }", opset=11)
    assert convert_version(proto, 9).model.graph.node[0] == proto.graph.node[0]


SCAN = """
g (float[2, 3] s, float[2, 3, 4] x) => (float[2, 3] t, float[2, 3, 4] y) {
  t, y = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1], body = b (float[2, 3] a, float[2, 3] i)
    => (float[2, 3] c, float[2, 3] o) { c = Add (a, i) o = Identity (c) }> (s, x)
}
"""


def test_scan() -> None:
    result = assert_same(model(SCAN, opset=11), 9, {"s": np.zeros((2, 3), np.float32), "x": X})
    axes = {a.name: list(a.ints) for a in result.graph.node[0].attribute if a.ints}
    assert axes == {"scan_input_axes": [2], "scan_output_axes": [2]}


REWRITES = [
    (
        "negative_axes.axis_from_the_front",
        11,
        10,
        "g (float[2,3] x) => (int64[2,1] y) { y = ArgMax <axis = -1> (x) }",
        "{ y = ArgMax <axis = 1> (x) }",
    ),
    (
        "negative_axes.reduced_axes_from_the_front",
        11,
        10,
        "g (float[2,3] x) => (float[2,1] y) { y = ReduceMax <axes = [-1]> (x) }",
        "{ y = ReduceMax <axes = [1]> (x) }",
    ),
    (
        "negative_axes.scan_axes_from_the_front",
        11,
        10,
        "g (float[2] s, float[2,3] x) => (float[2] t) { t = Scan <num_scan_inputs = 1, scan_input_axes = [-1], body = b (float[2] a, float[2] e) => (float[2] c) { c = Add (a, e) }> (s, x) }",
        "{ t = Scan (s, x) <body = body (float[2] v1, float[2] v2) => (float[2] v3) { v3 = Add (v1, v2) }, num_scan_inputs = 1, scan_input_axes = [1]> }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
