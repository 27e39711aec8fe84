"""Lists that the branches of an If put together: what is left and why, then the elements as outputs; against onnxruntime."""

from __future__ import annotations

import helpers
import numpy as np
import pytest
from helpers import assert_rewrites, convert_version, simplify

from split_rewrite.rewriter.structure.survey import all_graphs


def choice(other: str, outputs: str = "float[A, B] y, float[C, D] z, int64 n", read: bool = True) -> str:
    """A list of two tensors if c holds, else `other`, which may use p = -x and q = |x|."""
    after = "y = ConcatFromSequence<axis = 1>(s) z = SequenceAt(s, zero) n = SequenceLength(s)" if read else ""
    return f"""g (float[N, 4] x, bool c) => ({outputs}) <int64 zero = {{0}}> {{
        o, s = If(c)<then_branch = t () => (float[N, 4] o1, seq(float[N, 4]) s1)
                {{o1 = Neg(x) a = Abs(x) s1 = SequenceConstruct(x, a)}},
            else_branch = e () => (float[N, 4] p, seq(float[N, 4]) s2) {{p = Neg(x) q = Abs(x) {other}}}>
        {after}
    }}"""


_OTHER_IF = """s2 = If(c)<then_branch = t3 () => (seq(float[N, 4]) s3) {s3 = SequenceConstruct(p)},
    else_branch = e3 () => (seq(float[N, 4]) s4) {s4 = SequenceConstruct(q, x)}>"""
LEFT = {
    "another-if-of-two-lengths": (choice(_OTHER_IF), "the elements of 's2', which a branch gives, are not known"),
    "other-length": (choice("s2 = SequenceConstruct(p)"), "its branches give lists of 2 and 1 elements"),
    "not-known": (choice("s2 = SplitToSequence(p)"), "the axis dimension 'N' of 'p' is unknown"),
    "an-output": (choice("s2 = SequenceConstruct(p, q)", "seq(float[N, 4]) s", read=False), "'s' is an output of the main graph"),
}


@pytest.mark.parametrize(("text", "reason"), LEFT.values(), ids=LEFT)
def test_left_with_its_reason(text: str, reason: str) -> None:
    result = simplify(helpers.model(text, 14))
    assert any(remark.op_type == "If" and reason in remark.message for remark in result.report.remarks)


OTHERS = {
    "two": "s2 = SequenceConstruct(p, q)",
    "one-twice": "s2 = SequenceConstruct(p, p)",
    "from-outside": "s2 = SequenceConstruct(q, x)",
    "inserted": "s3 = SequenceConstruct(q) s2 = SequenceInsert(s3, p, zero)",
    "appended-to-nothing": "s3 = SequenceEmpty() s4 = SequenceInsert(s3, q) s2 = SequenceInsert(s4, p)",
    "erased": "s3 = SequenceConstruct(q, x, p) s2 = SequenceErase(s3, zero)",
    "from-another-if": """s2 = If(c)<then_branch = t3 () => (seq(float[N, 4]) s3) {s3 = SequenceConstruct(p, p)},
        else_branch = e3 () => (seq(float[N, 4]) s4) {s5 = SequenceConstruct(q) s4 = SequenceInsert(s5, x)}>""",
    "inserted-behind-another-if": """s6, w = If(c)<then_branch = t3 () => (seq(float[N, 4]) s3, float[N, 4] w3) {s3 = SequenceConstruct(p) w3 = Neg(q)},
        else_branch = e3 () => (seq(float[N, 4]) s4, float[N, 4] w4) {s4 = SequenceConstruct(q) w4 = Abs(p)}> s2 = SequenceInsert(s6, w)""",
    "renamed": "s3 = SequenceConstruct(q, p) s2 = Identity(s3)",
    "split": "d = Concat<axis = 0>(p, q) m = Shape(p) n0 = Gather(m, zero) r = Constant<value_ints = [1]>() n1 = Reshape(n0, r) k = Concat<axis = 0>(n1, n1) s2 = SplitToSequence(d, k)",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("target", helpers.known(14, 18, 11, 9))
def test_an_if_gives_the_elements(other: str, target: int) -> None:
    source = helpers.model(choice(other), 14)
    result = convert_version(source, target).model
    assert not any("Sequence" in node.op_type for graph in all_graphs(result) for node in graph.node)
    for condition in (True, False):
        for rows in (1, 3):
            x = np.linspace(-1, 1, 4 * rows, dtype=np.float32).reshape(rows, 4)
            given = {"x": x, "c": np.array(condition)}
            for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
                np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("target", [12, 11])
def test_an_output_where_an_if_gives_no_lists(target: int) -> None:
    source = helpers.model(choice("s2 = SequenceConstruct(p, q)", "seq(float[N, 4]) s", read=False), 14)
    result = convert_version(source, target).model
    assert [node.op_type for node in result.graph.node] == ["If", "SequenceConstruct"]
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    for condition, expected in ((True, [x, np.abs(x)]), (False, [-x, np.abs(x)])):
        (got,) = helpers.run(result, {"x": x, "c": np.array(condition)})
        np.testing.assert_array_equal(got, expected)


REWRITES = [
    (
        "branch_lists.elements_for_a_list",
        17,
        17,
        "g (bool c, float[2] a, float[2] b) => (float[4] y) { s = If (c) <then_branch = t () => (seq(float[2]) p) { p = SequenceConstruct (a, b) }, else_branch = e () => (seq(float[2]) q) { q = SequenceConstruct (b, a) }> y = ConcatFromSequence <axis = 0> (s) }",
        """
            {
              s_element0, s_element1 = If (c) <else_branch = body () => (float[2] s_element_3, float[2] s_element_4) {
                s_element_3 = Identity (b)
                s_element_4 = Identity (a)
              }, then_branch = body () => (float[2] s_element, float[2] s_element_2) {
                s_element = Identity (a)
                s_element_2 = Identity (b)
              }>
              y = Concat <axis = 0> (s_element0, s_element1)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [12, 14, 18])
@pytest.mark.parametrize("more", ["", "float[4] u, "])
def test_of_two_lists_of_nothing_one_of_nothing_is_left(more: str, target: int) -> None:
    """An If that gives nothing else is gone: it cannot be without outputs."""
    values = ("u, ", "u = Neg(x)", "u = Abs(x)") if more else ("", "", "")
    text = f"""g (float[4] x, bool c) => (float[4] y, float[4] z) <int64 zero = {{0}}> {{
        {values[0]}e = If(c)<then_branch = t () => ({more.replace("u", "u1")}seq(float) s1) {{ {values[1].replace("u", "u1")} s1 = SequenceEmpty() }},
            else_branch = e () => ({more.replace("u", "u2")}seq(float) s2) {{ {values[2].replace("u", "u2")} s2 = SequenceEmpty() }}>
        f = SequenceInsert(e, x) z = SequenceAt(f, zero) y = {"Identity(u)" if more else "Neg(x)"} }}"""
    result = convert_version(helpers.model(text, 14), target).model
    names = [node.op_type for node in result.graph.node]
    assert ("If" in names) == bool(more)
    x = np.array([1.0, -2, 3, 4], np.float32)
    for got, expected in zip(helpers.run(result, {"x": x, "c": np.array(False)}), (np.abs(x) if more else -x, x), strict=True):
        np.testing.assert_array_equal(got, expected)
