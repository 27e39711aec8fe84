"""The rules that avoid forms of attributes that are left out, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "defaults.state_defaults",
        "Attribute left out",
        13,
        "g (float[2,1,3] x) => (float[2,1,1] y) { y = ReduceL1<axes = [2]>(x) }",
        "{ y = ReduceL1 <axes = [2], keepdims = 1> (x) }",
    ),
    (
        "defaults.state_window",
        "Attribute left out",
        13,
        "g (float[1,1,4,4] x, float[1,1,2,3] w) => (float[1,1,3,2] y) { y = Conv(x, w) }",
        "{ y = Conv <kernel_shape = [2, 3], strides = [1, 1]> (x, w) }",
    ),
    (
        "defaults.state_axes",
        "Squeeze without axes",
        13,
        "g (float[2,1,3,1] x) => (float[2,3] y) { y = Squeeze(x) }",
        "<int64[2] axes = {1, 3}> { y = Squeeze (x, axes) }",
    ),
    (
        "defaults.state_axes",
        "Squeeze without axes",
        11,
        "g (float[2,1,3] x) => (float[2,3] y) { y = Squeeze(x) }",
        "{ y = Squeeze <axes = [1]> (x) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)
