"""Compress below opset 9: the places that are kept are constant."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal


def test_refuses_conditions_of_unknown_length():
    text = "g (float[3] x, bool[C] c) => (float[N] y) { y = Compress (x, c) }"
    assert "the shape (C) of 'c' is not fully known" in refusal(model(text, 9), 8)


@pytest.mark.parametrize("attribute", ["", "<axis=1>"])
def test_constant_conditions(attribute):
    rank = "[A,B]" if attribute else "[A]"
    text = f"g (float[2,3] x) => (float{rank} y) <bool[3] c = {{0, 1, 1}}> {{ y = Compress {attribute} (x, c) }}"
    assert_same(model(text, 9), 8, {"x": np.arange(6, dtype=np.float32).reshape(2, 3)})


REWRITES = [
    (
        "compress.gather_kept_slices",
        9,
        8,
        "g (float[3] x) => (float[2] y) <bool[3] c = {0, 1, 1}> { y = Compress <axis = 0> (x, c) }",
        "{ v1 = Constant <value = double[2] {1, 2}> () v2 = Cast <to = 7> (v1) y = Gather <axis = 0> (x, v2) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
