"""Flags that are neither 0 nor 1: refused where a rule reads them, left alone where nothing changes."""

from __future__ import annotations

import pytest
from helpers import convert_version, model, refusal

MOD = "g (float[3] x, float[3] z) => (float[3] y) { y = Mod <fmod = 17> (x, z) }"
REDUCE = "g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}> { y = ReduceMax <keepdims = 2> (x, axes) }"


@pytest.mark.parametrize(
    ("text", "opset", "target", "flag"),
    [(MOD, 11, 9, "fmod=17"), (REDUCE, 18, 17, "keepdims=2"), (MOD.replace("17", "-1"), 13, 9, "fmod=-1")],
)
def test_refuses_what_a_rule_would_have_to_read(text: str, opset: int, target: int, flag: str) -> None:
    message = refusal(model(text, opset), target)
    assert f"{flag} is neither 0 nor 1, which the specification gives no meaning" in message


def test_stays_where_no_rule_changes_the_node() -> None:
    (node,) = convert_version(model(MOD, 13), 11).model.graph.node
    assert node.attribute[0].i == 17
