"""An Attention with impossible heads, scales and pasts."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

from split_rewrite.rewriter.opsets.transitions import newest_opset

ATTENTION = "g (float[1,2,4] x, float[1,2,3,2] p) => (float[1,2,4] y) {{ {} = Attention <q_num_heads = {}, kv_num_heads = 2{}> (x, x, x{}) }}"


def attention(outputs: str = "y", heads: int = 2, attributes: str = "", inputs: str = "") -> str:
    return ATTENTION.format(outputs, heads, attributes, inputs)


INVALID = [
    (23, attention(heads=-2), "the number of heads q_num_heads is -2"),
    (23, attention(heads=0), "the number of heads q_num_heads is 0"),
    (23, attention(attributes=", scale = 0.0"), "scale is 0, and has to be positive"),
    (23, attention(attributes=", softcap = -1.0"), "softcap is -1, and has to be 0 or positive, and finite"),
    (23, attention("y, k, v", inputs=", , p"), "it has only one of past_key and past_value"),
]
VALID = [
    (23, attention(attributes=", scale = 0.5, softmax_precision = 1")),
    (23, attention("y, k, v", inputs=", , p, p")),
]


@pytest.mark.parametrize(("opset", "text", "message"), [row for row in INVALID if row[0] <= newest_opset()])
def test_invalid(opset: int, text: str, message: str) -> None:
    found = invalidity(model(text, opset, ir_version=10 if opset > 20 else 7), opset + 1)
    assert found.endswith(f"(main graph) is invalid: {message}")


@pytest.mark.parametrize(("opset", "text"), [row for row in VALID if row[0] <= newest_opset()])
def test_valid(opset: int, text: str) -> None:
    convert_version(model(text, opset, ir_version=10 if opset > 20 else 7), opset, compare="off")
