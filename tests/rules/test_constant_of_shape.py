"""ConstantOfShape below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model


@pytest.mark.parametrize("kind", ["float", "int64", "int32", "bool", "uint8"])
@pytest.mark.parametrize("target", [8, 7])
def test_constant_of_shape(kind, target):
    text = f"g (int64[2] s) => ({kind}[A,B] y) {{ y = ConstantOfShape <value = {kind}[1] {{1}}> (s) }}"
    assert_same(model(text, 9), target, {"s": np.array([2, 3], np.int64)})


def test_constant_of_a_shape_with_nothing_in_it():
    assert_same(model("g (int64[2] s) => (float[A,B] y) { y = ConstantOfShape (s) }", 9), 8, {"s": np.array([0, 3], np.int64)})


REWRITES = [
    (
        "constant_of_shape.expand_the_value",
        9,
        8,
        "g (int64[2] s) => (float[A,B] y) { y = ConstantOfShape <value = float[1] {1}> (s) }",
        "{ v1 = Constant <value = float {1}> () y = Expand (v1, s) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
