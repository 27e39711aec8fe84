"""The rules that avoid forms of bools, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "bools.through_int32",
        "Split of bool",
        13,
        "g (bool[4] x) => (bool[2] y, bool[2] z) { y, z = Split(x) }",
        """
            {
              as_int32 = Cast <to = 6> (x)
              as_int32_2, as_int32_2_as_int32 = Split (as_int32)
              y = Cast <to = 9> (as_int32_2)
              z = Cast <to = 9> (as_int32_2_as_int32)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    options = for_a_runtime(form, tmp_path)
    assert_rewrites(before, after, rule, opset, opset, options)
