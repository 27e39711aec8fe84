"""Concat: the axis of opset 1."""

from __future__ import annotations

import numpy as np
from helpers import convert_version, model, run


def test_the_axis_of_opset_1_is_1() -> None:
    proto = model("g (float[2, 3] x) => (float[2, 6] y) { y = Concat (x, x) }", opset=1)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(convert_version(proto, 9).model, {"x": x})[0], np.concatenate([x, x], 1))


def test_a_given_axis_stays() -> None:
    proto = model("g (float[2, 3] x) => (float[4, 3] y) { y = Concat <axis = 0> (x, x) }", opset=1)
    assert convert_version(proto, 9).model.graph.node[0] == proto.graph.node[0]
