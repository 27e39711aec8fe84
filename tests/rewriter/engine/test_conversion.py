"""The walk of the nodes: all blockers at once."""

from __future__ import annotations

import helpers
import pytest
from helpers import convert_version

from split_rewrite.rewriter import UnconvertibleError


def test_all_blockers_are_named_at_once() -> None:
    text = """g (float[5, 5] x, bool c) => (float a, float y) {
        [first] a = Det(x)
        [cond] y = If (c) <then_branch = t () => (float p) {[inner] p = Det(x)},
                           else_branch = e () => (float r) {r = ReduceSum<keepdims = 0>(x)}> }"""
    with pytest.raises(UnconvertibleError) as refusal:
        convert_version(helpers.model(text, 13), 10)
    named = {(blocker.node, blocker.where) for blocker in refusal.value.blockers}
    assert {("first", "main graph"), ("inner", "If 'cond' then_branch")} <= named
