"""SequenceMap over a known sequence: its body once for each element."""

from __future__ import annotations

import pytest
from helpers import assert_rewrites, model, refusal


def test_refuses_a_body_that_gives_nothing() -> None:
    text = "g (float[1] x) => (seq(float[1]) y) {s = SequenceConstruct(x)\n y = SequenceMap<body = b (float[1] v) => (float[1] w) {w = Relu(v)}>(s)}"
    proto = model(text, 18)
    del proto.graph.node[1].attribute[0].g.output[:]
    assert "onnx cannot write SequenceMap as a function" in refusal(proto, 16)


REWRITES = [
    (
        "sequence_map.inline_body",
        17,
        17,
        "g (float[2] a) => (float[2] y) <int64 i = {0}> { s = SequenceConstruct (a) t = SequenceMap <body = b (float[2] v) => (float[2] w) { w = Relu (v) }> (s) y = SequenceAt (t, i) }",
        "{ y = Relu (a) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
