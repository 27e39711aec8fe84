"""A CenterCropPad with more or fewer lengths than axes."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

CROP = "g (float[4,5] x, int64[{}] s) => (float[A,B] y) {{ y = CenterCropPad{}(x, s) }}"
INVALID = [
    (18, CROP.format(3, " <axes = [0, 1]> "), "shape has 3 entries for 2 axes"),
    (18, CROP.format(1, " "), "shape has 1 entries for 2 axes"),
]
VALID = [
    (18, CROP.format(1, " <axes = [0]> ")),
    (18, CROP.format("N", " ")),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset: int, text: str, message: str) -> None:
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(("opset", "text"), [row for row in VALID if row[0] <= newest_opset()])
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
