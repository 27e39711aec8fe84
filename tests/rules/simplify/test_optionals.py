"""Optionals: what is left and why, then what a known one becomes; against onnxruntime."""

from __future__ import annotations

import helpers
import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, refusal, simplify

X = np.arange(12, dtype=np.float32).reshape(2, 6)
LISTS = {"Optional", "OptionalGetElement", "OptionalHasElement"}


LEFT = {
    "an-input": (
        "g (optional(float[N,6]) o) => (bool h) { h = OptionalHasElement(o) }",
        "whether the optional 'o' has an element is not known: it is an input of the main graph",
    ),
    "of-an-input": (
        "g (optional(float[N,6]) o) => (float[N,6] y) { y = OptionalGetElement(o) }",
        "whether the optional 'o' has an element is not known: it is an input of the main graph",
    ),
    "an-output": ("g (float[N,6] x) => (optional(float[N,6]) o) { o = Optional(x) }", "'o' is an output of the main graph"),
    "nothing-in-a-branch": (
        """g (float[N,6] x, bool c) => (float[N,6] y) {
            o = Optional <type = float[N,6]> ()
            y = If(c) <then_branch = t () => (float[N,6] p) { p = OptionalGetElement(o) },
                       else_branch = e () => (float[N,6] q) { q = Neg(x) }>
        }""",
        "the optional 'o' has no element: it fails if it runs",
    ),
    "what-a-branch-gives": (
        """g (float[N,6] x, bool c) => (bool h) {
            o = If(c) <then_branch = t () => (optional(float[N,6]) p) { p = Optional(x) },
                       else_branch = e () => (optional(float[N,6]) q) { q = Optional <type = float[N,6]> () }>
            h = OptionalHasElement(o)
        }""",
        "whether the optional 'o' has an element is not known: it comes from If 'o'",
    ),
}


@pytest.mark.parametrize(("text", "reason"), LEFT.values(), ids=LEFT)
def test_it_stays(text: str, reason: str) -> None:
    result = simplify(helpers.model(text, 18))
    assert any(reason in str(remark) for remark in result.report.remarks)
    assert any(node.op_type in LISTS for node in result.model.graph.node)


def test_the_refusal_says_why() -> None:
    message = refusal(helpers.model(LEFT["an-input"][0], 18), 14)
    assert "it stays because whether the optional 'o' has an element is not known: it is an input of the main graph" in message


@pytest.mark.parametrize("opset", helpers.known(15, 18, 21))
@pytest.mark.parametrize("target", helpers.known(9, 18))
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("g (float[N,6] x) => (float[N,6] y) { o = Optional(x) e = OptionalGetElement(o) y = Neg(e) }", ["Neg"]),
        ("g (float[N,6] x) => (bool y) { o = Optional(x) y = OptionalHasElement(o) }", ["Constant"]),
        ("g (float[N,6] x) => (bool y) { o = Optional <type = float[N,6]> () y = OptionalHasElement(o) }", ["Constant"]),
        (
            """g (float[N,6] x) => (float[N,2] y) <int64[3] sizes = {2, 2, 2}, int64 last = {-1}> {
                s = SplitToSequence <axis = 1> (x, sizes) o = Optional(s) t = OptionalGetElement(o) y = SequenceAt(t, last)
            }""",
            ["Split"],
        ),
    ],
)
def test_what_is_known_dissolves(text: str, written: list[str], opset: int, target: int) -> None:
    source = helpers.model(text, opset)
    result = convert_version(source, target).model
    assert [node.op_type for node in result.graph.node] == written
    np.testing.assert_array_equal(*helpers.run(result, {"x": X}), *helpers.run(source, {"x": X}), strict=True)


def test_it_is_seen_through_identity() -> None:
    text = "g (float[N,6] x) => (float[N,6] y) { o = Optional(x) p = Identity(o) e = OptionalGetElement(p) y = Neg(e) }"
    assert [node.op_type for node in simplify(helpers.model(text, 16)).model.graph.node] == ["Neg"]


def test_a_branch_that_asks_first_is_taken() -> None:
    text = """g (float[N,6] x) => (float[N,6] y) {
        o = Optional(x) h = OptionalHasElement(o)
        y = If(h) <then_branch = t () => (float[N,6] p) { p = OptionalGetElement(o) },
                   else_branch = e () => (float[N,6] q) { q = Neg(x) }>
    }"""
    source = helpers.model(text, 18)
    for target in (18, 9):
        result = convert_version(source, target).model
        np.testing.assert_array_equal(*helpers.run(result, {"x": X}), X)
        assert not any(node.op_type in LISTS for node in result.graph.node)


REWRITES = [
    (
        "optionals.answer",
        18,
        18,
        "g (float[2] x) => (bool y) { o = Optional(x) y = OptionalHasElement(o) }",
        "{ y = Constant <value = bool {1}> () }",
    ),
    (
        "optionals.read_element",
        18,
        18,
        "g (float[2] x) => (float[2] y) { o = Optional(x) e = OptionalGetElement(o) y = Neg(e) }",
        "{ y = Neg(x) }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES)
def test_what_is_written(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
