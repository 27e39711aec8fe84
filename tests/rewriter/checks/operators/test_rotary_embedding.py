"""A RotaryEmbedding whose caches do not fit."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

ROTARY = "g (float[1,2,3,{}] x, float[5,{}] c, int64[1,3] p) => (float[1,2,3,{}] y) {{ y = RotaryEmbedding <interleaved = 0> (x, c, c, p) }}"
INVALID = [
    (23, ROTARY.format(8, 2, 8), "cos_cache has 2 columns for 8 rotated elements, which need 4"),
    (23, ROTARY.format(8, 4, 8).replace(", c, c, p)", ", c, c)"), "cos_cache has rank 2, and needs 3 without position_ids"),
]
VALID = [
    (23, ROTARY.format(8, 4, 8)),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset: int, text: str, message: str) -> None:
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(("opset", "text"), [row for row in VALID if row[0] <= newest_opset()])
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
