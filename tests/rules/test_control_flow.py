"""If and Loop before opset 11."""

import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, model, refusal, run


def branches(one, other, output="[N]"):
    return model(
        f"g (bool c, float[2] x, float[3] z, float[M] m, float[K] n) => (float{output} y) {{ y = If (c) "
        f"<then_branch = t () => (float{one[1]} p) {{ p = Relu ({one[0]}) }}, "
        f"else_branch = e () => (float{other[1]} q) {{ q = Neg ({other[0]}) }}> }}",
        11,
    )


@pytest.mark.parametrize(
    "one, other, output",
    [
        pytest.param("float[2,3] p", "float[6] q", "float[N]", id="ranks"),
        pytest.param("float[M,3] p", "float[M,6] q", "float[A,B]", id="open lengths"),
        pytest.param("float[0,0] p", "float[3,2] q", "float[A,B]", id="two empty axes"),
    ],
)
def test_refuses_branches_of_different_shapes(one, other, output):
    text = f"""g (bool c, {one.replace(" p", " x")}, {other.replace(" q", " z")}) => ({output} y) {{
        y = If (c) <then_branch = t () => ({one}) {{ p = Relu (x) }}, else_branch = e () => ({other}) {{ q = Neg (z) }}> }}"""
    assert "the branches give 'y' different shapes" in refusal(model(text, 11), 10)


@pytest.mark.parametrize("kind, dtype", [("float", np.float32), ("int64", np.int64), ("string", np.str_)])
@pytest.mark.parametrize("shapes", [((2, 3), (4, 1)), ((2, 3), (1, 2)), ((3, 0), (1, 2)), ((2, 0), (0, 3))])
@pytest.mark.parametrize("target", [10, 9])
def test_branches_of_different_shapes_return_rows(kind, dtype, shapes, target):
    one, other = (",".join(map(str, shape)) for shape in shapes)
    text = f"""g (bool[1] c, {kind}[{one}] x, {kind}[{other}] z) => ({kind}[A,B] y, int64[2] s) {{
        y = If (c) <then_branch = t () => ({kind}[{one}] p) {{ p = Identity (x) }},
                    else_branch = e () => ({kind}[{other}] q) {{ q = Identity (z) }}>
        s = Shape (y) }}"""
    result = convert_version(model(text, 11), target).model
    given = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) for shape in shapes]
    given = [array.astype(object) if kind == "string" else array for array in given]
    for condition, expected in zip((True, False), given, strict=True):
        y, shape = run(result, {"c": np.array([condition]), "x": given[0], "z": given[1]})
        assert shape.tolist() == list(expected.shape)
        np.testing.assert_array_equal(y, expected)


def test_an_if_in_a_branch_returns_a_row_as_well():
    text = """g (bool c, bool d, float[2,3] x) => (float y) {
        r = If (c) <then_branch = t () => (float m) {
                        i = If (d) <then_branch = tt () => (float[1,3] p) { p = ReduceSum <axes = [0]> (x) },
                                    else_branch = te () => (float[2,3] q) { q = Neg (x) }>
                        m = ReduceMax <keepdims = 0> (i) },
                    else_branch = e () => (float n) { n = ReduceMin <keepdims = 0> (x) }>
        y = Neg (r) }"""
    x = np.array([[1, 5, 2], [3, 1, 4]], np.float32)
    result = convert_version(model(text, 11), 8).model
    for c, d, expected in ((True, True, -6), (True, False, 1), (False, True, -1)):
        assert run(result, {"c": np.array(c), "d": np.array(d), "x": x})[0] == expected


def test_a_length_of_one_branch_alone_is_refused():
    """onnxruntime's optimizer folds the Shape of what the If gives to [2], whatever M is."""
    assert "a length that one branch gives 'y' for that of both, which it may not be" in refusal(
        branches(("x", "[2]"), ("m", "[M]")), 10
    )


def test_a_caution_where_the_shapes_are_unknown():
    report = convert_version(branches(("m", "[M]"), ("n", "[K]")), 10).report
    (message,) = [remark.message for remark in report.remarks if remark.kind == "warning"]
    assert "both branches have to give 'y' the same shape" in message


def test_equal_shapes_pass():
    assert convert_version(branches(("x", "[2]"), ("x", "[2]"), "[2]"), 10).report.remarks == ()


SUM_OR_NOT = """g (float[2,{last}] x) => (float{out} y) <int64 axis = {{1}}, int64 one = {{1}}, int64[1] axes = {{1}}> {{
    dims = Shape (x)  length = Gather <axis=0> (dims, axis)  is_one = Equal (length, one)
    z = If (is_one) <then_branch = t () => (float[2] s) {{ n = Neg (x)  s = ReduceSum <keepdims=0> (n, axes) }},
                     else_branch = e () => (float[2,{last}] i) {{ i = Identity (x) }}>
    y = Relu (z) }}"""


def summed(last, out, opset=13):
    """As exporters write a squeeze of a length that they do not know."""
    return model(SUM_OR_NOT.format(last=last, out=out), opset)


def operators(proto):
    return [node.op_type for node in proto.graph.node]


GIVEN = "<bool c = {1}>"
STAYS = [
    pytest.param("bool c, ", "", "", 13, 12, id="condition at run time"),
    pytest.param("bool c, ", GIVEN, "", 13, 12, id="condition that a caller may override"),
    pytest.param("", GIVEN, "", 13, 15, id="upward"),
    pytest.param("", GIVEN, "y", 13, 12, id="a branch that contradicts the declared shape"),
]


@pytest.mark.parametrize("inputs, known, declared, opset, target", STAYS)
def test_an_if_stays(inputs, known, declared, opset, target):
    text = f"""g ({inputs}float[2,1] x) => (float[N] z) {known or "<int64[1] unused = {0}>"} {{
        y = If (c) <then_branch = t () => (s) {{ axes = Constant <value_ints = [1]> ()  s = Squeeze (x, axes) }},
                    else_branch = e () => (float[5] r) {{ r = Constant <value_floats = [1.0,2.0,3.0,4.0,5.0]> () }}>
        z = Relu (y) }}"""
    proto = model(text, opset)
    if declared:
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [5]))
    assert "If" in operators(convert_version(proto, target).model)


def test_an_if_stays_where_nothing_changes_and_its_branches_have_one_shape() -> None:
    text = """g (float[2,1] x) => (float[2] z) <bool c = {1}, int64[1] axes = {1}> {
        y = If (c) <then_branch = t () => (float[2] s) { s = Squeeze (x, axes) },
                    else_branch = e () => (float[2] r) { r = Constant <value_floats = [1.0,2.0]> () }>
        z = Relu (y) }"""
    assert operators(convert_version(model(text, 15), 14).model) == ["If", "Relu"]


@pytest.mark.parametrize("target", [12, 10, 7])
@pytest.mark.parametrize("last, out", [("1", "[2]"), ("3", "[2,3]")])
def test_the_branch_of_a_constant_condition(last, out, target):
    proto = summed(last, out)
    result = assert_same(proto, target, {"x": np.linspace(-1, 1, 2 * int(last), dtype=np.float32).reshape(2, -1)})
    assert "If" not in operators(result)
    assert ("ReduceSum" in operators(result)) == (last == "1")


def test_the_branch_of_a_constant_condition_tells_the_shape() -> None:
    """A rule behind it has to know the lengths, as torch's script exporter writes scatter_reduce."""
    text = """g (float[4,6] d, int64[4,3] i, float[4,3] u) => (float[4,6] y) <bool c = {0}> {
        j = If (c) <then_branch = t () => (int64[12] a) { m = Constant <value_ints = [-1]> () a = Reshape (i, m) },
                    else_branch = e () => (int64[4,3] b) { b = Identity (i) }>
        y = ScatterElements <axis = 1, reduction = "add"> (d, j, u) }"""
    feeds = {
        "d": np.arange(24, dtype=np.float32).reshape(4, 6),
        "i": np.array([[0, 1, 5], [2, 2, 2], [3, 4, 3], [5, 0, 1]]),
        "u": np.arange(12, dtype=np.float32).reshape(4, 3),
    }
    for target in (15, 13, 11):
        assert "If" not in operators(assert_same(model(text, 17), target, feeds))
    assert "If" in operators(convert_version(model(text, 17), 18).model)


def test_a_branch_that_never_runs_may_be_impossible():
    """Split cannot make 4 pieces of 5."""
    text = """g (float[5] x) => (float[N] y) <bool never = {0}> {
        y = If (never) <then_branch = t () => (a) { a, b, c, d = Split <num_outputs=4> (x) },
                        else_branch = e () => (b) { b = Neg (x) }> }"""
    result = convert_version(model(text, 18), 9).model
    assert operators(result) == ["Neg"]
    np.testing.assert_array_equal(run(result, {"x": np.float32([1, -2, 0, 3, 4])})[0], [-1, 2, 0, -3, -4])


NAMES = [
    pytest.param("a, b", "float[2] p, float[2] p", "p = Squeeze (x, axes)", [[1, 2], [1, 2]], id="one value, two outputs"),
    pytest.param("a, b", "q, p", "p = Squeeze (x, axes) q = Add (p, v)", [[8, 10], [1, 2]], id="one of the other"),
    pytest.param("a, b", "q, p", "q = Neg (v) p = Squeeze (x, axes)", [[-7, -8], [1, 2]], id="names as elsewhere"),
    pytest.param("ABSENT, b", "q, p", "q = Neg (v) p = Squeeze (x, axes)", [[1, 2]], id="an output left out"),
]


@pytest.mark.parametrize("target", [12, 8])
@pytest.mark.parametrize("outputs, given, body, expected", NAMES)
def test_names_of_a_branch(outputs, given, body, expected, target):
    """The other branch uses the same names for other things."""
    other = "p = Constant <value_floats = [5.0]> () q = Constant <value_floats = [6.0, 6.0, 6.0]> ()"
    results = outputs.replace("ABSENT, ", "").split(", ")
    text = f"""g (float[2,1] x, float[2] v) => ({", ".join(f"float[N] {name}" for name in results)})
        <bool c = {{1}}, int64[1] axes = {{1}}> {{
        {outputs} = If (c) <then_branch = t () => ({given}) {{ {body} }}, else_branch = e () => (p, q) {{ {other} }}> }}"""
    result = convert_version(model(text, 13), target).model
    assert "If" not in operators(result)
    feeds = {"x": np.float32([[1], [2]]), "v": np.float32([7, 8])}
    for got, want in zip(run(result, feeds), expected, strict=True):
        np.testing.assert_array_equal(got, np.float32(want))


def test_weights_of_a_branch():
    text = """g (float[2,1] x) => (float[2] y) <bool c = {1}> {
        y = If (c) <then_branch = t () => (p) <float[2] w = {1, 2}, int64[1] axes = {1}> { s = Squeeze (x, axes)  p = Add (s, w) },
                    else_branch = e () => (q) <float[2] w = {3, 4}> { q = Neg (w) }> }"""
    result = convert_version(model(text, 13), 12).model
    assert operators(result) == ["Squeeze", "Add"]
    np.testing.assert_array_equal(run(result, {"x": np.float32([[5], [6]])})[0], np.float32([6, 8]))


def test_branches_within_branches_and_loops():
    """The condition of the inner If is known, that of the outer is not; the inner one reads what a Loop carries."""
    text = """g (bool c, float[2] x) => (float[2] y) <bool yes = {1}, int64 n = {3}, int64[1] axes = {0}> {
        y = If (c) <
            then_branch = t () => (float[2] p) {
                p = Loop (n, yes, x) <body = b (int64 i, bool go, float[2] s) => (bool go_on, float[2] u) {
                    go_on = Identity (go)
                    r = If (yes) <then_branch = t2 () => (float[1,2] q) { k = Add (s, x)  q = Unsqueeze (k, axes) },
                                  else_branch = e2 () => (float[2] q) { k = Neg (s)  q = Neg (k) }>
                    u = Squeeze (r, axes) }> },
            else_branch = e () => (float[2] q) { q = Neg (x) }> }"""
    result = convert_version(model(text, 13), 9).model
    assert operators(result) == ["If"]
    for condition, want in ((True, [4, 8]), (False, [-1, -2])):
        np.testing.assert_array_equal(run(result, {"c": np.array(condition), "x": np.float32([1, 2])})[0], np.float32(want))


@pytest.mark.parametrize("operator", ["Gelu", "Own"])
def test_operators_of_other_domains_in_a_branch_stay(operator):
    """Also where ONNX has one of the same name."""
    text = f"""<ir_version: 8, opset_import: ["" : 20, "my" : 1]>
        g (float[2,1] x) => (float[2] y) <bool c = {{1}}, int64[1] axes = {{1}}> {{
        y = If (c) <then_branch = t () => (float[2] p) {{ q = my.{operator} (x)  p = Squeeze (q, axes) }},
                    else_branch = e () => (float[2] r) {{ r = Squeeze (x, axes) }}> }}"""
    nodes = convert_version(model(text), 12).model.graph.node
    assert [(node.domain, node.op_type) for node in nodes] == [("my", operator), ("", "Squeeze")]


def test_what_only_the_other_branch_read_goes():
    text = """g (float[2,1] x) => (float[2] y) <bool c = {1}, int64[1] axes = {1}, float[3] w = {1, 2, 3}> {
        d = Neg (w)
        y = If (c) <then_branch = t () => (float[2] p) { p = Squeeze (x, axes) },
                    else_branch = e () => (float[3] q) { q = Neg (d) }> }"""
    result = convert_version(model(text, 13), 10).model
    assert operators(result) == ["Squeeze"]
    assert not result.graph.initializer


def test_a_refusal_within_the_branch_says_where_it_comes_from():
    text = """g (float[5,5] x) => (float y) <bool c = {1}> {
        [choice] y = If (c) <then_branch = t () => (p) { p = Det (x) }, else_branch = e () => (q) { q = ReduceMax (x) }> }"""
    message = refusal(model(text, 18), 9)
    assert "If 'choice' (main graph) 11→10: its condition is constant, and the branch that it takes is put in its place" in message
    assert "its rewrite needs Det: older operators cannot express" in message


def loop(count, condition_in, condition, body=""):
    """Absent inputs are ""; older parsers do not read an absent first one."""
    proto = model(
        f"g (float[2] x, int64 n, bool c) => (float[2] y) {{ y = Loop (n, c, x) <body = b (int64 i, bool go, float[2] s) => "
        f"(bool {condition}, float[2] t) {{ {body} t = Add (s, s) }}> }}",
        11,
    )
    proto.graph.node[0].input[:2] = [count, condition_in]
    return proto


STOPS = [
    pytest.param(
        "stop", "half = Constant <value = float {8.0}> () m = ReduceMax <keepdims=0> (s) stop = Less (m, half)", id="computed"
    ),
    pytest.param("stop", "stop = Constant <value = bool {0}> ()", id="false"),
    pytest.param("stop", "stop = Not (go)", id="turned around"),
]


@pytest.mark.parametrize("condition, body", STOPS)
def test_refuses_a_body_that_says_stop_to_a_loop_that_does_not_listen(condition, body):
    assert "without a condition, the Loop ignores the one that its body returns" in refusal(loop("n", "", condition, body), 10)


GOES_ON = [
    pytest.param("go2", "go2 = Identity (go)", id="passes it on"),
    pytest.param("go2", "one = Identity (go) go2 = Identity (one)", id="passes it on twice"),
    pytest.param("go2", "go2 = Constant <value = bool {1}> ()", id="true"),
]


@pytest.mark.parametrize("target", [10, 7])
@pytest.mark.parametrize("condition, body", GOES_ON)
def test_a_loop_without_a_condition_gets_one(condition, body, target):
    result = convert_version(loop("n", "", condition, body), target).model
    feeds = {"x": np.float32([1, 2]), "n": np.array(3), "c": np.array(True)}
    np.testing.assert_array_equal(run(result, feeds)[0], [8, 16])


def test_a_loop_without_a_count_gets_the_largest():
    body = "half = Constant <value = float {8.0}> () m = ReduceMax <keepdims=0> (s) stop = Less (m, half)"
    result = convert_version(loop("", "c", "stop", body), 10).model
    feeds = {"x": np.float32([1, 2]), "n": np.array(3), "c": np.array(True)}
    np.testing.assert_array_equal(run(result, feeds)[0], [8, 16])


def test_a_value_that_a_branch_reads_which_goes_with_its_if() -> None:
    text = (
        "g (float[2] x, bool c) => (float[2] y, float[2] z) <bool f = {0}> {m = Neg(x)\n"
        "w = If(c) <then_branch = t () => (float[2] a) {a = Exp(m)\n n = Relu(m)}, else_branch = e () => (float[2] b) {b = Abs(x)}>\n"
        "y = If(f) <then_branch = t () => (float[2] p) {p = Abs(w)}, else_branch = e () => (float[2] q) {q = Abs(x)}>\n z = Relu(m)}"
    )
    assert_compares_equal(model(text, 11), 8)


def test_a_cast_of_a_branch_that_takes_the_place_of_its_if() -> None:
    text = (
        "g (float[2] x, bool b) => (double[2] y) <bool t = {1}> {c = If(t) <"
        'then_branch = t () => (double[2] p) {p = Cast<to = "DOUBLE">(x)\n r, s = Split(x)}, '
        'else_branch = e () => (double[2] n) {n = Cast<to = "DOUBLE">(x)}>\n '
        "y = If(b) <then_branch = t () => (double[2] g) {g = Pow(c, c)}, else_branch = e () => (double[2] h) {h = Identity(c)}>}"
    )
    assert_compares_equal(model(text, 3), 1)


REWRITES = [
    (
        "control_flow.take_the_branch",
        13,
        10,
        "g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) }, else_branch = e () => (float[2] b) { b = Neg (x) }> }",
        "{ y = Relu (x) }",
    ),
    (
        "control_flow.add_count_and_condition",
        11,
        10,
        "g (int64 n, float[2] x) => (float[2] y) { y = Loop (n, ABSENT, x) <body = t (int64 i, bool c, float[2] a) => (bool d, float[2] b) { d = Identity (c) b = Relu (a) }> }",
        """
            <bool condition = {1}>
            {
              y = Loop (n, condition, x) <body = body (int64 i, bool c, float[2] a) => (bool d, float[2] b) {
                d = Identity (c)
                b = Relu (a)
              }>
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


@pytest.mark.parametrize("target", [7, 8])
def test_an_absent_trip_count_in_the_oldest_opsets(target):
    """A Constant of larger integers than 2^53 does not load there."""
    text = (
        "g (float x, float limit) => (float y) { t = Constant <value = bool {1}> () y = Loop (ABSENT, t, x) <body = b (int64 i, bool c, float s) "
        "=> (bool co, float so) { so = Add (s, s) co = Less (so, limit) }> }"
    )
    result = convert_version(model(text, 11), target).model
    assert run(result, {"x": np.array(1, np.float32), "limit": np.array(20, np.float32)})[0] == 32


OF_A_LIST = """g (float[N,4] x) => (float[M,K] y) <int64 o = {1}, int64 i = {1}, int64[2] s = {1,3}, int64[1] a = {1}>
    { l = SplitToSequence <axis = 1> (x, s) v = SequenceAt (l, o) h = Shape (v) d = Gather (h, i) c = Equal (d, o)
      w = If (c) <then_branch = t () => (p) { p = Squeeze (v, a) }, else_branch = e () => (q) { q = Identity (v) }> y = Neg (w) }"""


@pytest.mark.parametrize("target", [8, 10, 11, 13, 15, 16, 18])
def test_a_branch_that_never_runs_goes_with_the_list_that_hid_it(target):
    """Without the list, runtimes know that Squeeze does not fit, and refuse the model."""
    given = model(OF_A_LIST, 16)
    result = convert_version(given, target).model
    assert {"If", "SequenceAt"}.isdisjoint(node.op_type for node in result.graph.node)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(run(result, {"x": x})[0], -x[:, 1:])


def test_without_a_list_an_if_stays_at_its_opset():
    text = OF_A_LIST.replace("l = SplitToSequence <axis = 1> (x, s) v = SequenceAt (l, o)", "u, v = Split <axis = 1> (x, s)")
    text = text.replace("p = Squeeze (v, a)", "p = Neg (v)")
    assert "If" in [node.op_type for node in convert_version(model(text, 16), 16).model.graph.node]


def test_a_condition_that_follows_from_one_length_of_a_shape():
    text = """g (float[B,1,4] x) => (float[M,N] y) <int64[1] a = {1}, int64 i = {1}>
        { s = Shape (x) d = Gather (s, i) c = Equal (d, i)
          y = If (c) <then_branch = t () => (float[B,4] p) { p = Squeeze (x, a) }, else_branch = e () => (float[B,1,4] q) { q = Identity (x) }> }"""
    result = convert_version(model(text, 16), 10).model
    assert [node.op_type for node in result.graph.node] == ["Squeeze"]
