"""SequenceMap over a known sequence: its body once for each element."""

from __future__ import annotations

from helpers import model, refusal


def test_refuses_a_body_that_gives_nothing() -> None:
    text = "g (float[1] x) => (seq(float[1]) y) {s = SequenceConstruct(x)\n y = SequenceMap<body = b (float[1] v) => (float[1] w) {w = Relu(v)}>(s)}"
    proto = model(text, 18)
    del proto.graph.node[1].attribute[0].g.output[:]
    assert "onnx cannot write SequenceMap as a function" in refusal(proto, 16)
