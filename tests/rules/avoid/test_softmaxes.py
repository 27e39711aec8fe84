"""The rules that avoid forms of Softmax, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "softmaxes.of_a_matrix",
        "Softmax before opset 13, axis not last",
        11,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }",
        """
            <int64[3] shape = {2, 3, 4}>
            {
              matrix = Flatten <axis = 1> (x)
              of_matrix = Softmax <axis = 1> (matrix)
              y = Reshape (of_matrix, shape)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)
