"""The rules that avoid forms of Transpose, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import for_a_runtime
from helpers import assert_rewrites

REWRITES = [
    (
        "transposes.do_nothing",
        "Transpose of one axis",
        13,
        "g (float[3] x) => (float[3] y) { y = Transpose<perm = [0]>(x) }",
        "{ y = Identity (x) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(form, tmp_path))
