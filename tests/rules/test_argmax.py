"""ArgMax and ArgMin: select_last_index below opset 12."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_same, convert_version, model

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
