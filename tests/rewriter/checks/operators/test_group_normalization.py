"""A GroupNormalization in a type that is not floating-point."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

GROUPS = (
    "g (float[1,2,2] x, float[2] s) => (float[1,2,2] y) {{ y = GroupNormalization <num_groups = 1, stash_type = {}> (x, s, s) }}"
)
INVALID = [
    (21, GROUPS.format(2), "stash_type is 2, which is not a floating-point type"),
]
VALID = [
    (21, GROUPS.format(10)),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset: int, text: str, message: str) -> None:
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(("opset", "text"), [row for row in VALID if row[0] <= newest_opset()])
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
