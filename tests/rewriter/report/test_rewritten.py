"""Rewritten nodes as a report keeps them."""

from __future__ import annotations

import pickle

import pytest
from helpers import model

from split_rewrite.rewriter import convert_version

pytestmark = pytest.mark.quick


def test_a_rewrite_is_text_without_the_model() -> None:
    report = convert_version(model("g (float[4] x) => (float[2] a, float[2] b) {a, b = Split<num_outputs = 2>(x)}", 18), 13).report
    (rewrite,) = pickle.loads(pickle.dumps(report)).rewrites
    assert (rewrite.where, rewrite.op_type, rewrite.node, rewrite.made) == ("main graph", "Split", "a", ("Split",))
    assert rewrite.before.startswith("a, b = Split <num_outputs: int = 2") and rewrite.after == ("a, b = Split (x)",)
