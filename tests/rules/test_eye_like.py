"""EyeLike below opset 9."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, assert_same, model, refusal


def test_refuses_an_unknown_size():
    text = "g (float[N,3] x) => (float[N,3] y) { y = EyeLike (x) }"
    assert "is not fully known" in refusal(model(text, 9), 8)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_eye(k):
    assert_same(
        model(f"g (int32[3,4] x) => (float[3,4] y) {{ y = EyeLike <k={k}, dtype=1> (x) }}", 9), 8, {"x": np.zeros((3, 4), np.int32)}
    )


REWRITES = [
    (
        "eye_like.constant_eye",
        9,
        8,
        "g (int32[2,2] x) => (float[2,2] y) { y = EyeLike <dtype = 1> (x) }",
        "{ y = Constant <value = float[2,2] {1, 0, 0, 1}> () }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
