"""Lists that loops carry: what is left and why, then what a list becomes that is appended to, or only read; against onnxruntime."""

from __future__ import annotations

import helpers
import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, convert_version, simplify

from split_rewrite.rewriter.structure.survey import all_graphs


def operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]


def sequence_operators(proto: onnx.ModelProto) -> set[str]:
    return {node.op_type for graph in all_graphs(proto) for node in graph.node if "Sequence" in node.op_type}


def filled(
    outputs: str, after: str, *, body: str = "q = Mul(r, r) d = SequenceInsert(c, q)", start: str = "SequenceEmpty<dtype = 1>()"
) -> str:
    """Rows of x, squared, in a list; `after` reads the list s."""
    return f"""g (float[K, 4] x, int64 n) => ({outputs}) <int64 zero = {{0}}, int64 last = {{-1}}, bool t = {{1}}> {{
        e = {start}
        s = Loop(n, t, e)<body = b (int64 i, bool k, seq(float) c) => (bool k2, seq(float) d)
            {{k2 = Identity(k) r = Gather<axis = 0>(x, i) {body}}}>
        {after}
    }}"""


CAT = "y = ConcatFromSequence<axis = 0>(s)"
LONGER = (
    "o = Constant<value_ints = [1]>() j = Add(i, o) h = Constant<value_ints = [0]>() q = Slice(r, h, j) d = SequenceInsert(c, q)"
)
"""Turn i appends i + 1 numbers."""
LEFT = {
    "starts-with-an-element": (
        filled("float[A, B] y", "y = ConcatFromSequence<axis = 0, new_axis = 1>(s)", start="SequenceConstruct(f)").replace("bool t", "float[4] f = {1, 2, 3, 4}, bool t"),
        "is not known to start empty",
    ),
    "inserts-at-the-front": (filled("float[A] y", CAT, body="d = SequenceInsert(c, r, zero)"), "does not just append"),
    "inserts-twice": (filled("float[A] y", CAT, body="b = SequenceInsert(c, r) d = SequenceInsert(b, r)"), "does not just append"),
    "reads-it-too": (
        filled("float[A] y", CAT, body="m = SequenceLength(c) w = Cast<to = 1>(m) q = Mul(r, w) d = SequenceInsert(c, q)"), "also reads the list",
    ),
    "appends-other-lengths": (
        filled("float[A] y", "y = SequenceAt(s, zero)", body=LONGER),
        "'q', which it appends to a list, is not known to have one shape in all iterations",
    ),
    "appends-other-lengths-put-together-twice": (
        filled("float[A] y, float[B] z", f"{CAT} z = SequenceAt(s, last)", body=LONGER),
        "'q', which it appends to a list, is not known to have one shape in all iterations",
    ),
    "appends-other-lengths-of-text": (
        filled("string[A] y", CAT, body=LONGER.replace("d =", "w = Cast<to = 8>(q) d =").replace("c, q", "c, w"), start="SequenceEmpty<dtype = 8>()").replace("seq(float)", "seq(string)"),
        "is text or of unknown type",
    ),
    "an-output": (
        filled("seq(float) s", ""), "the list that it makes is not read, or is an output of the graph",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), LEFT.values(), ids=LEFT)
def test_left_with_its_reason(text: str, reason: str) -> None:
    result = simplify(helpers.model(text, 13))
    assert any(remark.op_type == "Loop" and reason in remark.message for remark in result.report.remarks)
    assert "SequenceInsert" in sequence_operators(result.model)


READ = {
    "stacked": ("float[A, B] y", "y = ConcatFromSequence<axis = 0, new_axis = 1>(s)", ["Loop"]),
    "stacked-behind": ("float[A, B] y", "y = ConcatFromSequence<axis = 1, new_axis = 1>(s)", ["Loop", "Transpose"]),
    "stacked-at-the-end": ("float[A, B] y", "y = ConcatFromSequence<axis = -1, new_axis = 1>(s)", ["Loop", "Transpose"]),
    "put-together": ("float[A] y", CAT, ["Loop", "Reshape"]),
    "the-last": ("float[A] y", "y = SequenceAt(s, last)", ["Loop", "Gather"]),
    "one-of-them": ("float[A] y", "m = Neg(n) y = SequenceAt(s, m)", ["Loop", "Neg", "Gather"]),
    "counted": ("int64 y", "y = SequenceLength(s)", ["Loop", "Shape", "Gather"]),
}


@pytest.mark.parametrize(("outputs", "after", "expected"), READ.values(), ids=READ)
@pytest.mark.parametrize("target", helpers.known(13, 18, 11, 9))
def test_appended_to(outputs: str, after: str, expected: list[str], target: int) -> None:
    source = helpers.model(filled(outputs, after), 13)
    assert operators(simplify(source).model) == expected
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    for count in (1, 2, 5):
        given = {"x": x[: count + 1], "n": np.array(count)}
        np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


def test_matrices_put_together_along_each_of_their_axes() -> None:
    text = """g (float[K, 2, 3] x, int64 n) => (float[A, B] y, float[C, D] z) <bool t = {1}> {
        e = SequenceEmpty<dtype = 1>()
        s = Loop(n, t, e)<body = b (int64 i, bool k, seq(float) c) => (bool k2, seq(float) d)
            {k2 = Identity(k) r = Gather<axis = 0>(x, i) d = SequenceInsert(c, r)}>
        y = ConcatFromSequence<axis = 1>(s) z = ConcatFromSequence<axis = -2>(s)
    }"""
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert operators(result) == ["Loop", "Transpose", "Reshape", "Reshape"]
    for count in (1, 4):
        given = {"x": np.arange(24, dtype=np.float32).reshape(4, 2, 3), "n": np.array(count)}
        for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


def test_a_body_that_ends_the_loop_itself() -> None:
    text = """g (float[K, 4] x, float limit) => (float[A, B] y, float[4] z) <int64 most = {9}, bool t = {1}, float[4] start = {0, 0, 0, 0}> {
        e = SequenceEmpty<dtype = 1>()
        s, z = Loop(most, t, e, start)<body = b (int64 i, bool k, seq(float) c, float[4] v) => (bool k2, seq(float) d, float[4] w)
            {r = Gather<axis = 0>(x, i) w = Add(v, r) m = ReduceSum<keepdims = 0>(w) k2 = Less(m, limit) d = SequenceInsert(c, r)}>
        y = ConcatFromSequence<axis = 0, new_axis = 1>(s)
    }"""
    source = helpers.model(text, 13)
    result = simplify(source).model
    assert operators(result) == ["Loop"]
    for limit in (-1, 10, 60):
        given = {"x": np.arange(40, dtype=np.float32).reshape(10, 4), "limit": np.array(limit, np.float32)}
        for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("handed_on", ["d = Identity(c)", "f = Identity(c) d = Identity(f)"])
def test_a_list_that_is_only_read_stays_outside(handed_on: str) -> None:
    text = f"""g (float[6, 4] x, int64 n) => (float[4] y, float[2, 4] w) <bool t = {{1}}, int64 one = {{1}}, int64 two = {{2}}, int64 zero = {{0}}, float[4] start = {{0, 0, 0, 0}}> {{
        e = SplitToSequence(x, two)
        y0, s = Loop(n, t, start, e)<body = b (int64 i, bool k, float[4] v, seq(float[2, 4]) c) => (bool k2, float[4] u, seq(float[2, 4]) d)
            {{k2 = Identity(k) r = SequenceAt(c, i) m = Gather<axis = 0>(r, zero) u = Add(v, m) {handed_on}}}>
        y = Neg(y0) w = SequenceAt(s, one)
    }}"""
    source = helpers.model(text, 14)
    result = simplify(source).model
    assert sequence_operators(result) == set()
    assert operators(result) == ["Split", "Loop", "Neg"]
    for count in (1, 3):
        given = {"x": np.arange(24, dtype=np.float32).reshape(6, 4), "n": np.array(count)}
        for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


def joined(axis: int, element: str) -> str:
    return f"""g (float[K, 4] x, int64 n) => (float[A, B] y) <bool t = {{1}}, int64[1] o = {{1}}, int64[1] z = {{0}}> {{
        e = SequenceEmpty()
        s = Loop(n, t, e)<body = b (int64 i, bool k, seq(float) c) => (bool k2, seq(float) d)
            {{k2 = Identity(k) j = Add(i, o) {element} d = SequenceInsert(c, q)}}>
        y = ConcatFromSequence<axis = {axis}>(s)
    }}"""


@pytest.mark.parametrize(
    ("axis", "element"),
    [
        (0, "q = Slice(x, z, j)"),
        (-2, "q = Slice(x, z, j)"),
        (1, "w = Transpose(x) q = Slice(w, z, j, o)"),
        (0, "r = Slice(x, z, j) q = Neg(r)"),
    ],
)
@pytest.mark.parametrize("target", helpers.known(13, 18, 11, 9))
def test_elements_of_other_lengths_are_put_together_in_each_turn(axis: int, element: str, target: int) -> None:
    source = helpers.model(joined(axis, element), 13)
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    assert operators(result)[-1] == "Loop"
    for rows, count in ((1, 1), (3, 2), (6, 5)):
        given = {"x": np.arange(4 * rows, dtype=np.float32).reshape(rows, 4), "n": np.array(count)}
        np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


@pytest.mark.parametrize("elem_type", ["float", "int64", "bool", "float16"])
@pytest.mark.parametrize("target", helpers.known(13, 18, 11, 9))
def test_other_lengths_of_the_elements_may_be_those_of_inputs(elem_type: str, target: int) -> None:
    text = joined(0, "q = Slice(x, z, j)").replace("float[K, 4]", "float[K, 2, D]").replace("float[A, B]", "float[A, 2, D]")
    number = onnx.TensorProto.DataType.Value(elem_type.upper())
    source = helpers.model(text.replace("float", elem_type).replace("SequenceEmpty()", f"SequenceEmpty<dtype = {number}>()"), 13)
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    kind = {"float": np.float32}.get(elem_type) or np.dtype(elem_type)
    for rows, width, count in ((1, 3, 1), (6, 1, 5), (3, 0, 2)):
        given = {"x": np.arange(2 * width * rows).reshape(rows, 2, width).astype(kind), "n": np.array(count)}
        np.testing.assert_array_equal(*helpers.run(result, given), *helpers.run(source, given), strict=True)


OTHER_LENGTHS = {
    "of no input": joined(0, "p = Expand(x, c0) q = Slice(p, z, j)")
    .replace("int64 n)", "int64 n, int64[2] c0)")
    .replace("K, 4", "K, D"),
    "of one iteration": joined(1, "q = Slice(x, z, j)"),
    "beside a sum and rows": joined(0, "p = Expand(x, c0) q = Slice(p, z, j) u2 = Add(u, u) r = Neg(u)")
    .replace("int64 n)", "int64 n, int64[2] c0)")
    .replace("K, 4", "K, D")
    .replace("float[A, B] y)", "float[A, B] y, float v, float[E] w)")
    .replace("int64[1] z = {0}", "int64[1] z = {0}, float one = {1}")
    .replace("s = Loop(n, t, e)", "s, v, w = Loop(n, t, e, one)")
    .replace("seq(float) c) => (bool k2, seq(float) d)", "seq(float) c, float u) => (bool k2, seq(float) d, float u2, float r)"),
}


@pytest.mark.parametrize("text", OTHER_LENGTHS.values(), ids=OTHER_LENGTHS)
@pytest.mark.parametrize("target", helpers.known(13, 18, 11, 9))
def test_the_first_element_tells_lengths_that_are_not_known_before(text: str, target: int) -> None:
    source = helpers.model(text, 13)
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    for rows, count in ((1, 1), (3, 1), (3, 2), (6, 5)) if "axis = 1" not in text else ((1, 1), (3, 1)):
        given = {"x": np.arange(4 * rows, dtype=np.float32).reshape(rows, 4), "n": np.array(count)}
        given |= {"c0": np.array([rows, 4])} if "c0" in text else {}
        for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)


def turns(count: str, *, go_on: str = "k2 = Identity(k)", number: str = "int64 i") -> str:
    """A list of rows of other lengths; c carries a sum along, and r is stacked."""
    return f"""g (float[6, 4] x, int64 n) => (float[A, B] y, float[C, D] z, float[4] w, float[E, 4] v)
        <bool t = {{1}}, int64[1] o = {{1}}, int64[1] b0 = {{0}}, int64 last = {{-1}}, int64 three = {{3}}, float[4] start = {{0, 0, 0, 0}}, int64[1] vector = {{3}}> {{
        e = SequenceEmpty()
        s, w, v = Loop({count}, t, e, start)<body = b ({number}, bool k, seq(float) c, float[4] u) => (bool k2, seq(float) d, float[4] u2, float[4] r)
            <int64[1] shape = {{-1}}>
            {{{go_on} i1 = Reshape(i, shape) j = Add(i1, o) q = Slice(x, i1, n1) d = SequenceInsert(c, q) r0 = Gather(x, i) f = Constant<value_ints = [4]>() r = Reshape(r0, f) u2 = Add(u, r)}}>
        y = SequenceAt(s, last)
        z = ConcatFromSequence<axis = 0>(s)
    }}""".replace("n1)", "six)").replace("int64[1] o", "int64[1] six = {6}, int64[1] o")


@pytest.mark.parametrize(("count", "number"), [("three", "int64 i"), ("vector", "int64[1] i")])
@pytest.mark.parametrize("target", helpers.known(13, 18, 11, 9))
def test_few_turns_are_written_out(count: str, number: str, target: int) -> None:
    source = helpers.model(turns(count, number=number), 13)
    result = convert_version(source, target).model
    assert sequence_operators(result) == set()
    assert "Loop" not in operators(result)
    given = {"x": np.arange(24, dtype=np.float32).reshape(6, 4), "n": np.array(3)}
    for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


def test_few_turns_are_written_out_before_one_of_two_lists_is_stacked() -> None:
    text = """g (float[6] x) => (float[A] y, float[B] z) <int64 n = {3}, bool t = {1}> {
        e = SequenceEmpty() f = SequenceEmpty()
        s, r = Loop(n, t, e, f)<body = b (int64 i, bool k, seq(float[P]) c, seq(float[Q]) d) => (bool k2, seq(float[P]) c2, seq(float[Q]) d2) {
            k2 = Identity(k) one = Constant<value_ints = [1]>() m = Reshape(i, one) h = ReduceMax(x) o = Expand(h, m)
            c2 = SequenceInsert(c, o) d2 = SequenceInsert(d, h) }>
        y = ConcatFromSequence<axis = 0>(s) z = ConcatFromSequence<axis = 0>(r) }"""
    source = helpers.model(text, 17)
    result = convert_version(source, 10).model
    assert set(operators(result)) == {"ReduceMax", "Concat", "Expand"}
    given = {"x": np.arange(6, dtype=np.float32)}
    for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


def test_a_list_that_stays_leaves_the_other_one_stacked() -> None:
    text = """g (float[6] x, int64 n) => (float[A] y, int64 z) <bool t = {1}> {
        e = SequenceEmpty() f = SequenceEmpty()
        s, r = Loop(n, t, e, f)<body = b (int64 i, bool k, seq(float[P]) c, seq(float[Q]) d) => (bool k2, seq(float[P]) c2, seq(float[Q]) d2) {
            k2 = Identity(k) one = Constant<value_ints = [1]>() m = Reshape(i, one) h = ReduceMax(x) o = Expand(h, m)
            c2 = SequenceInsert(c, o) d2 = SequenceInsert(d, h) }>
        y = ConcatFromSequence<axis = 0>(r) z = SequenceLength(s) }"""
    source = helpers.model(text, 17)
    result = simplify(source).model
    assert sequence_operators(result) == {"SequenceEmpty", "SequenceLength", "SequenceInsert"}
    given = {"x": np.arange(6, dtype=np.float32), "n": np.array(3)}
    for got, expected in zip(helpers.run(result, given), helpers.run(source, given), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


def test_a_list_that_is_given_on_as_another_one_stays() -> None:
    text = """g (float[2] x, int64 n) => (int64 y, int64 z, int64 w) <bool t = {1}> {
        e = SequenceConstruct(x) f = SequenceConstruct(x, x)
        s, r = Loop(n, t, e, f)<body = b (int64 i, bool k, seq(float[2]) c, seq(float[2]) d) => (bool k2, seq(float[2]) c2, seq(float[2]) c) {
            k2 = Identity(k) c2 = Identity(c) }>
        y = SequenceLength(s) z = SequenceLength(r) h = SequenceConstruct(x, x, x) w = SequenceLength(h) }"""
    result = simplify(helpers.model(text, 17))
    assert not result.report.warnings and operators(result.model).count("SequenceConstruct") == 2


MANY = {
    "unknown": turns("n"),
    "ends-itself": turns("three", go_on="h = Constant<value_int = 1>() k2 = Less(i, h)"),
    "too-many": turns("three").replace("int64 three = {3}", "int64 three = {60}"),
    "none-and-a-stack": turns("three").replace("int64 three = {3}", "int64 three = {0}"),
}


@pytest.mark.parametrize("text", MANY.values(), ids=MANY)
def test_other_turns_stay_a_loop(text: str) -> None:
    result = simplify(helpers.model(text, 13))
    assert "Loop" in operators(result.model)
    assert "SequenceInsert" in sequence_operators(result.model)


REWRITES = [
    (
        "loop_lists.lists_without_carrying",
        17,
        17,
        "g (int64 n, float[1] x) => (float[N] y) <bool c = {1}> { e = SequenceEmpty () s = Loop (n, c, e) <body = t (int64 i, bool g, seq(float[1]) a) => (bool d, seq(float[1]) b) { d = Identity (g) b = SequenceInsert (a, x) }> y = ConcatFromSequence <axis = 0> (s) }",
        """
            <bool c = {1}, int64[1] merged = {-1}>
            {
              s_rows = Loop (n, c) <body = body (int64 i, bool g) => (bool d, float[1] s_row) {
                d = Identity (g)
                s_row = Identity (x)
              }>
              y = Reshape (s_rows, merged)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


def nested(depth: int, turns: int) -> str:
    """Loops in each other, the innermost of which appends to a list that all carry."""

    def loop(level: int, before: str, after: str) -> str:
        if not level:
            return f"{after} = SequenceInsert({before}, x)"
        body = loop(level - 1, f"in{level}", f"out{level}")
        return (
            f"{after} = Loop(n, t, {before}) <body = b{level} (int64 i{level}, bool c{level}, seq(float[2]) in{level}) => "
            f"(bool k{level}, seq(float[2]) out{level}) {{ k{level} = Identity(c{level}) {body} }}>"
        )

    return (
        f"g (float[2] x) => (float[N] y) <int64 n = {{{turns}}}, bool t = {{1}}> "
        f"{{ e = SequenceEmpty<dtype = 1>() {loop(depth, 'e', 'r')} y = ConcatFromSequence<axis = 0>(r) }}"
    )


@pytest.mark.parametrize(("depth", "turns", "most"), [(2, 4, 64), (4, 16, 64), (5, 32, 64)])
def test_loops_in_each_other_are_written_out_by_what_they_become_together(depth: int, turns: int, most: int) -> None:
    proto = helpers.model(nested(depth, turns), 16)
    result = helpers.convert_version(proto, 17).model
    pending, count = [result.graph], 0
    while pending:
        nodes = pending.pop().node
        count += len(nodes)
        pending += [attribute.g for node in nodes for attribute in node.attribute if attribute.HasField("g")]
    assert count <= most
    if depth < 4:
        x = np.array([1, 2], np.float32)
        np.testing.assert_array_equal(helpers.run(result, {"x": x})[0], np.tile(x, turns**depth))
