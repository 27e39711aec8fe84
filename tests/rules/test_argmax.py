"""ArgMax and ArgMin: select_last_index below opset 12, and without keepdims for some runtimes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, assert_same, convert_version, model

WITHOUT_KEEPDIMS = "ArgMax without keepdims"
X = np.array([[3, 1, 3, 1], [2, 2, 2, 2], [1, 3, 1, 3]], np.float32)


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("shape", "target"), [("3, 4", 11), ("3, 4", 9), ("3, 4", 7), ("N, M", 11), ("N, M", 9)])
def test_last_index(name: str, keepdims: int, axis: int, shape: str, target: int) -> None:
    attributes = f"axis = {axis}, keepdims = {keepdims}, select_last_index = 1"
    result = f"int64[{'A, B' if keepdims else 'A'}]"
    assert_same(model(f"g (float[{shape}] x) => ({result} y) {{ y = {name} <{attributes}> (x) }}", opset=13), target, {"x": X})


def test_the_first_index_is_what_it_was() -> None:
    proto = model("g (float[3, 4] x) => (int64[1, 4] y) { y = ArgMax <select_last_index = 0> (x) }", opset=13)
    (node,) = convert_version(proto, 11).model.graph.node
    assert not node.attribute


@pytest.mark.parametrize("attributes", ["axis = 0", "axis = -1, keepdims = 0"])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("opset", "target"), [(9, 11), (9, 15), (10, 13)])
def test_a_scalar(operator, attributes, opset, target):
    """onnxruntime takes it up to opset 10 only, and gives 0."""
    proto = model(f"g (float x) => (int64 y) {{ y = {operator} <{attributes}> (x) }}", opset)
    assert_same(proto, target, {"x": np.array(3, np.float32)})


REWRITES = [
    (
        "argmax.place_in_a_scalar",
        10,
        11,
        "g (float x) => (int64 y) { y = ArgMin <axis = 0> (x) }",
        "{ y = Constant <value = int64 {0}> () }",
        "",
    ),
    (
        "argmax.search_from_the_back",
        13,
        11,
        "g (float[2,3] x) => (int64[2,1] y) { y = ArgMax <axis = 1, select_last_index = 1> (x) }",
        "<int64[1] v1 = {-1}, int64[1] v2 = {-9223372036854775808}, int64[1] v3 = {1}, int64 v6 = {2}> { v4 = Slice (x, v1, v2, v3, v1) v5 = ArgMax <axis = 1> (v4) y = Sub (v6, v5) }",
        "",
    ),
    (
        "argmax.squeeze_afterwards",
        13,
        13,
        "g (float[2,3] x) => (int64[2] y) { y = ArgMin<axis = -1, keepdims = 0, select_last_index = 1>(x) }",
        "<int64[1] a = {-1}> { k = ArgMin<axis = -1, keepdims = 1, select_last_index = 1>(x) y = Squeeze (k, a) }",
        WITHOUT_KEEPDIMS,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after", "form"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str, form: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, target, for_a_runtime(form, tmp_path) if form else None)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2,3] x) => (int64[2,1] y) { y = ArgMax<axis = 1>(x) }",
        "g (float[3] x) => (int64 y) { y = ArgMax<axis = 0, keepdims = 0>(x) }",
    ],
    ids=["with keepdims", "a vector"],
)
def test_what_keeps_its_axis_or_has_no_other_stays(text: str, tmp_path: Path) -> None:
    assert [node.op_type for node in converted(model(text, 13), WITHOUT_KEEPDIMS, tmp_path).graph.node] == ["ArgMax"]
