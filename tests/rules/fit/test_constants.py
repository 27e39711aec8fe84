"""Constant nodes as stored values, and what is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitting import for_a_list
from helpers import assert_rewrites, convert_version, model

from split_rewrite.rewriter import UnconvertibleError

REWRITES = [
    (
        "constants.stored",
        "g (float[2] x) => (float[2] y) { c = Constant<value = float[1] {3}>() y = Add(x, c) }",
        "<float[1] c = {3}> { y = Add(x, c) }",
    ),
    (
        "constants.stored",
        "g (float[2] x) => (float[2] y) { c = Constant<value_float = 3.0>() y = Add(x, c) }",
        "<float c = {3}> { y = Add(x, c) }",
    ),
]


def test_before_ir_4_there_are_no_stored_values(tmp_path: Path) -> None:
    old = model("g (float[2] x) => (float[2] y) { c = Constant<value = float[1] {3}>() y = Add(x, c) }", 8, 3)
    with pytest.raises(UnconvertibleError, match=r"Constant 'c' .*: NPU 1 does not allow it: it is not among the operators"):
        convert_version(old, options=for_a_list(tmp_path, ["Add"]))


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=["a tensor", "a number"])
def test_rewrites(rule: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 13, 13, for_a_list(tmp_path, ["Add"]))
