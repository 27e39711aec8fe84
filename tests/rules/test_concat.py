"""Concat: the axis of opset 1."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, model, run


def test_the_axis_of_opset_1_is_1() -> None:
    proto = model("g (float[2, 3] x) => (float[2, 6] y) { y = Concat (x, x) }", opset=1)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(convert_version(proto, 9).model, {"x": x})[0], np.concatenate([x, x], 1))


def test_a_given_axis_stays() -> None:
    proto = model("g (float[2, 3] x) => (float[4, 3] y) { y = Concat <axis = 0> (x, x) }", opset=1)
    assert convert_version(proto, 9).model.graph.node[0] == proto.graph.node[0]


REWRITES = [
    (
        "concat.write_out_axis",
        3,
        4,
        "g (float[2,3] a, float[2,3] b) => (float[2,6] y) { y = Concat (a, b) }",
        "{ y = Concat <axis = 1> (a, b) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
