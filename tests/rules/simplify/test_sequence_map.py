"""SequenceMap over a known sequence: its body once for each element."""

from __future__ import annotations

import onnx
import onnx.parser
import pytest
from helpers import assert_rewrites, convert_version, model, refusal


def test_refuses_a_body_that_gives_nothing() -> None:
    text = "g (float[1] x) => (seq(float[1]) y) {s = SequenceConstruct(x)\n y = SequenceMap<body = b (float[1] v) => (float[1] w) {w = Relu(v)}>(s)}"
    proto = model(text, 18)
    del proto.graph.node[1].attribute[0].g.output[:]
    assert "onnx cannot write SequenceMap as a function" in refusal(proto, 16)


def test_copies_within_copies_are_counted_together() -> None:
    """17 copies of a body that becomes 17 copies of 17 nodes, and an end: 17 * (1 + 17 * (1 + 17)) = 5,219 nodes."""
    names = ", ".join(["a"] * 17)
    inner = "SequenceMap <body = d (float[2] f) => (float[2] k) { k = Neg (f) }> (s)"
    middle = f"SequenceMap <body = c (float[2] e) => (float[34] h) {{ j = {inner} h = ConcatFromSequence <axis = 0> (j) }}> (s)"
    text = f"""g (float[2] a) => (float[9826] y) {{ s = SequenceConstruct ({names})
        t = SequenceMap <body = b (float[2] v) => (float[578] w) {{ u = {middle} w = ConcatFromSequence <axis = 0> (u) }}> (s)
        y = ConcatFromSequence <axis = 0> (t) }}"""
    outer = f"17 copies of {1 + 17 * (1 + 17)} nodes are more than the 4096 that are written out"
    assert outer in [remark.message for remark in convert_version(model(text, 17), 17).report.remarks]


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


def test_draws_from_a_seed_are_not_repeated() -> None:
    text = """g (float[2] x) => (float[4] y) { s = SequenceConstruct (x, x)
        t = SequenceMap <body = b (float[2] v) => (float[2] w) { w = RandomUniformLike <seed = 1.0> (v) }> (s)
        y = ConcatFromSequence <axis = 0> (t) }"""
    function = """<domain: "own", opset_import: ["": 17]> D (v) => (w) { w = RandomUniformLike <seed = 1.0> (v) }"""
    called = text.replace("RandomUniformLike <seed = 1.0>", "own.D")
    head = '<ir_version: 8, opset_import: ["": 17, "own": 1]> '
    for given in (model(text, 17), onnx.parser.parse_model(head + called + function)):
        assert "copies of its body would draw the same random numbers" in str([*convert_version(given, 17).report.remarks])
