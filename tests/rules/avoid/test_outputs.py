"""The rule that leaves out outputs that nothing reads, and what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from avoiding import converted, for_a_runtime
from helpers import assert_rewrites, model

FORM = "Optional output that nothing reads"


def test_what_is_read_stays(tmp_path: Path) -> None:
    text = "g (float[2,4] x, float[4] s) => (float[2,4] y, float[2,1] i) { y, m, i = LayerNormalization (x, s) }"
    (node,) = converted(model(text, 17), FORM, tmp_path).graph.node
    assert list(node.output) == ["y", "", "i"]


REWRITES = [
    (
        "outputs.leave_out",
        FORM,
        17,
        "g (float[2,4] x, float[4] s) => (float[2,4] y) { y, m, i = LayerNormalization (x, s) }",
        "{ y = LayerNormalization (x, s) }",
    ),
]


@pytest.mark.parametrize(("rule", "form", "opset", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, form: str, opset: int, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, opset, opset, for_a_runtime(form, tmp_path))
