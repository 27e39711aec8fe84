"""Scan: a batch of one before opset 9, one sequence since."""

import numpy as np
import onnx
import pytest
from helpers import assert_rewrites, assert_same, convert_version, model, refusal, run

TO_WRITE_OUT = """g (float[2] s, float[{dims}] x) => (float[2] last, float[{out}] all) {{
    last, all = Scan <num_scan_inputs=1{attributes}, body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {{
        c = Add (a, b)  d = Mul (c, s) }}> (s, x) }}"""


BODY = "body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) { t = Add (s, e) o = Mul (s, e) }"


def batch(size="1", first="", attributes=""):
    """Scan of opset 8."""
    lens = f"int64[{size}] n, " if first else ""
    proto = model(
        f"g ({lens}float[{size},2] s0, float[{size},3,2] x) => (float[{size},2] s, float[{size},3,2] y) "
        f"{{ s, y = Scan <num_scan_inputs=1{attributes}, {BODY}> ({first or 's0'}, s0, x) }}",
        8,
    )
    proto.graph.node[0].input[0] = first  # older parsers do not read an absent first input
    return proto


REFUSED_UP = [
    pytest.param(batch(first="n"), "sequence_lens does not exist from opset 9 on", id="lengths"),
    pytest.param(batch("4"), "has a batch axis, and the batch size is not known to be 1", id="four sequences"),
    pytest.param(batch("N"), "has a batch axis, and the batch size is not known to be 1", id="any number of sequences"),
]


@pytest.mark.parametrize("proto, message", REFUSED_UP)
def test_refuses_upward(proto, message):
    assert message in refusal(proto, 9)


def sequence(attributes="", x="[3,2]", y="[3,2]"):
    """Scan of opset 9."""
    return model(
        f"g (float[2] s0, float{x} x) => (float[2] s, float{y} y) {{ s, y = Scan <num_scan_inputs=1{attributes}, {BODY}> (s0, x) }}",
        9,
    )


def test_refuses_output_from_the_last_to_the_first():
    assert "scan_output_directions=1" in refusal(sequence(", scan_output_directions=[1]"), 8)


S0, X = np.float32([1, 2]), np.arange(6, dtype=np.float32).reshape(3, 2)


def expected(x, backward=False):
    state, outputs = S0, []
    for element in x[::-1] if backward else x:
        outputs.append(state * element)
        state = state + element
    return state, np.stack(outputs)


@pytest.mark.parametrize("first, reason", [("n", "sequence_lens does not exist"), ("", "the batch size is not known to be 1")])
def test_refuses_below_8(first, reason):
    assert reason in refusal(batch("N" if not first else "1", first=first), 7)


@pytest.mark.parametrize("attributes, backward", [("", False), (", directions=[1]", True)])
def test_a_batch_of_one_below_8(attributes, backward):
    result = convert_version(batch(attributes=attributes), 7).model
    got = run(result, {"s0": S0[None], "x": X[None]})
    for value, want in zip(got, expected(X, backward), strict=True):
        np.testing.assert_array_equal(value, want[None])


@pytest.mark.parametrize("attributes, backward", [("", False), (", directions=[1]", True)])
@pytest.mark.parametrize("target", [9, 13, 21])
def test_up_the_batch_of_one_goes(attributes, backward, target):
    proto = batch(attributes=attributes)
    result = convert_version(proto, target).model
    assert result.graph.input == proto.graph.input and result.graph.output == proto.graph.output
    for want, got in zip(expected(X, backward), run(result, {"s0": S0[None], "x": X[None]}), strict=True):
        np.testing.assert_array_equal(got, want[None])


@pytest.mark.parametrize(
    "attributes, x_shape, y_shape, backward",
    [
        pytest.param("", "[3,2]", "[3,2]", False, id="plain"),
        pytest.param(", scan_input_directions=[1]", "[3,2]", "[3,2]", True, id="backward"),
        pytest.param(", scan_input_axes=[1]", "[2,3]", "[3,2]", False, id="another input axis"),
        pytest.param(", scan_output_axes=[1]", "[3,2]", "[2,3]", False, id="another output axis"),
    ],
)
def test_down_it_is_a_batch_of_one(attributes, x_shape, y_shape, backward):
    older = convert_version(sequence(attributes, x_shape, y_shape), 8).model
    onnx.checker.check_model(older, full_check=True)
    x = X.T if x_shape == "[2,3]" else X
    state, y = run(older, {"s0": S0, "x": np.ascontiguousarray(x)})
    want_state, want_y = expected(X, backward)
    np.testing.assert_array_equal(state, want_state)
    np.testing.assert_array_equal(y, want_y.T if y_shape == "[2,3]" else want_y)


BARE = """g (float[N,4] x, float[2] s) => (float[2] last, float[N,1,2] y) <int64[1] axis = {{0}}, int64[2] ends = {{2, 4}}> {{
    last, y = Scan <num_scan_inputs=1, body = b ({state}, {element}) => (after, out) {{
        low, high = Split <num_outputs=2> (e)  z = Add (low, a)
        after = CastLike (z, a)  out = Unsqueeze (high, axis) }}> (s, x) }}"""


@pytest.mark.parametrize("target", [15, 13, 9])
@pytest.mark.parametrize("state, element", [("a", "e"), ("float[2] a", "float[4] e")], ids=["bare inputs", "typed inputs"])
def test_what_the_body_gives_declares_its_rank(target, state, element):
    """onnxruntime cannot run a Scan otherwise, and older operators do not tell it."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    proto = model(BARE.format(state=state, element=element), 18)
    result = convert_version(proto, target).model
    (scan,) = (node for node in result.graph.node if node.op_type == "Scan")
    (body,) = (attribute.g for attribute in scan.attribute if attribute.name == "body")
    ranks = [len(value.type.tensor_type.shape.dim) for value in body.output if value.type.tensor_type.HasField("shape")]
    assert ranks == [1, 2]
    for want, got in zip((S0 + x[:, :2].sum(0), x[:, None, 2:]), run(result, {"x": x, "s": S0}), strict=True):
        np.testing.assert_array_equal(got, want)


def test_declared_shapes_of_a_body_stay():
    proto = sequence()
    proto.opset_import[0].version = 18
    assert convert_version(proto, 9).model.graph.node[0] == proto.graph.node[0]


@pytest.mark.parametrize(
    "dims, out, reason",
    [
        pytest.param("N,2", "N,2", "axis dimension 'N' of 'x' is unknown", id="steps at run time"),
    ],
)
def test_refuses_to_write_out_steps_of_unknown_number(dims, out, reason):
    assert reason in refusal(model(TO_WRITE_OUT.format(dims=dims, out=out, attributes=""), 11), 7)


@pytest.mark.parametrize("attributes", [", scan_output_directions=[1]", ", scan_output_axes=[1]"])
def test_refuses_many_steps_stacked_otherwise(attributes):
    proto = model(TO_WRITE_OUT.format(dims="17,2", out="A,B", attributes=attributes), 11)
    assert "a Scan of 17 steps that stacks along another axis, or backward" in refusal(proto, 7)


@pytest.mark.parametrize("opset, target", [(11, 7), (18, 7), (9, 7)])
@pytest.mark.parametrize(
    "attributes, dims",
    [
        pytest.param("", "40,2", id="forward"),
        pytest.param(", scan_input_directions=[1]", "40,2", id="backward"),
        pytest.param(", scan_input_axes=[1]", "2,40", id="another axis"),
        pytest.param(", scan_input_axes=[-1], scan_input_directions=[1]", "2,40", id="axis from the end, backward"),
    ],
)
def test_many_steps_become_a_loop(attributes, dims, opset, target):
    shape = tuple(int(dim) for dim in dims.split(","))
    given = {"s": np.array([0.5, -2], np.float32), "x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    result = assert_same(model(TO_WRITE_OUT.format(dims=dims, out="40,2", attributes=attributes), opset), target, given)
    assert {"Loop", "Scan"} & {node.op_type for node in result.graph.node} == {"Loop"}


def test_a_long_scan_whose_body_changes_on_the_way_down():
    """Squeeze and ReduceSum take their axes as inputs at 18; the second output is not used."""
    text = """g (float[1,2] s, float[20,2,2] x) => (float[1,2] last) <int64[1] zero = {0}> {
        last, all = Scan <num_scan_inputs=1, body = step (float[1,2] a, float[2,2] b) => (float[1,2] c, float[2] d) {
            r = ReduceSum (b, zero)  c = Add (a, r)  d = Squeeze (c, zero) }> (s, x) }"""
    x = np.random.default_rng(1).standard_normal((20, 2, 2)).astype(np.float32)
    assert_same(model(text, 18), 7, {"s": np.zeros((1, 2), np.float32), "x": x})


def test_steps_keep_operators_of_other_domains():
    text = """<ir_version: 8, opset_import: ["" : 18, "my" : 1]> g (float[2] s, float[2,2] x) => (float[2] last, float[2,2] all) {
        last, all = Scan <num_scan_inputs=1, body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {
            c = Add (a, b)  d = my.Gelu (c) }> (s, x) }"""
    nodes = convert_version(model(text), 7).model.graph.node
    assert [node.op_type for node in nodes if node.domain == "my"] == ["Gelu", "Gelu"]


@pytest.mark.parametrize(
    "attributes, dims, out",
    [
        pytest.param("", "3,2", "3,2", id="forward"),
        pytest.param(", scan_input_directions=[1]", "3,2", "3,2", id="backward"),
        pytest.param(", scan_output_directions=[1]", "3,2", "3,2", id="stacked backward"),
        pytest.param(", scan_input_axes=[1], scan_output_axes=[1]", "2,3", "2,3", id="other axes"),
        pytest.param(", scan_input_axes=[-1], scan_output_axes=[-1]", "2,3", "2,3", id="axes from the end"),
    ],
)
def test_a_few_steps_are_written_out(attributes, dims, out):
    shape = tuple(int(dim) for dim in dims.split(","))
    given = {"s": np.array([0.5, -2], np.float32), "x": np.arange(6, dtype=np.float32).reshape(shape)}
    assert_same(model(TO_WRITE_OUT.format(dims=dims, out=out, attributes=attributes), 11), 7, given)


def test_what_is_stored_in_the_body_is_there_once() -> None:
    text = """g (float[3,2] x) => (float[3,2] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[2] s) => (float[2] o) <float[2] k = {1.0, 2.0}> { o = Add(s, k) }> (x) }"""
    result = assert_same(model(text, 9), 7, {"x": np.arange(6, dtype=np.float32).reshape(3, 2)})
    added = [node.input[1] for node in result.graph.node if node.op_type == "Add"]
    assert len(added) == 3 and len(set(added)) == 1


def test_refuses_directions_of_nothing() -> None:
    text = (
        "g (float[1] x, float[2,1] z) => (float[1] y) {y = Scan<num_scan_inputs = 1, scan_input_directions = [0, 0], "
        "body = b (float[1] v, float[1] s) => (float[1] w) {w = Add(v, s)}>(x, z)}"
    )
    assert "scan_input_directions has 2 entries for 1 values" in refusal(model(text, 16), 7)


REWRITES = [
    (
        "scan.batch_of_one",
        9,
        8,
        "g (float[2] s, float[3,2] x) => (float[2] t) { t = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] c) { c = Add (a, e) }> (s, x) }",
        "{ v1 = Unsqueeze <axes = [0]> (s) v2 = Unsqueeze <axes = [0]> (x) v6 = Scan (ABSENT, v1, v2) <body = body (float[2] v3, float[2] v4) => (float[2] v5) { v5 = Add (v3, v4) }, num_scan_inputs = 1> t = Squeeze <axes = [0]> (v6) }",
    ),
    (
        "scan.declare_ranks_of_the_body",
        16,
        15,
        "g (float[2] s, float[3,2] x) => (float[2] t) { t = Scan <num_scan_inputs = 1, body = b (a, e) => (c) { c = Add (a, e) }> (s, x) }",
        "{ t = Scan (s, x) <body = body ( a, e) => (float[?] c) { c = Add (a, e) }, num_scan_inputs = 1> }",
    ),
    (
        "scan.one_sequence",
        8,
        9,
        "g (float[1,2] s, float[1,3,2] x) => (float[1,2] t) { t = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] c) { c = Add (a, e) }> (ABSENT, s, x) }",
        """
            {
              sequence = Squeeze <axes = [0]> (s)
              sequence_2 = Squeeze <axes = [0]> (x)
              sequence_3 = Scan (sequence, sequence_2) <body = body (float[2] a, float[2] e) => (float[2] c) {
                c = Add (a, e)
              }, num_scan_inputs = 1>
              t = Unsqueeze <axes = [0]> (sequence_3)
            }
        """,
    ),
    (
        "scan.write_out_the_steps",
        8,
        7,
        "g (float[1,2] s, float[1,2,2] x) => (float[1,2] t) { t = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] c) { c = Add (a, e) }> (ABSENT, s, x) }",
        """
            {
              sequence = Squeeze <axes = [0]> (s)
              sequence_2 = Squeeze <axes = [0]> (x)
              sequence_3_step_double = Constant <value = double {0}> ()
              sequence_3_step = Cast <to = 7> (sequence_3_step_double)
              sequence_3_slice = Gather <axis = 0> (sequence_2, sequence_3_step)
              sequence_3_c = Add (sequence, sequence_3_slice)
              sequence_3_step_2_double = Constant <value = double {1}> ()
              sequence_3_step_2 = Cast <to = 7> (sequence_3_step_2_double)
              sequence_3_slice_2 = Gather <axis = 0> (sequence_2, sequence_3_step_2)
              sequence_3_c_2 = Add (sequence_3_c, sequence_3_slice_2)
              t = Unsqueeze <axes = [0]> (sequence_3_c_2)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)


def test_draws_from_a_seed_are_not_repeated() -> None:
    text = """g (float[2] s, float[3,2] x) => (float[2] t, float[3,2] y) { t, y = Scan <num_scan_inputs = 1,
        body = b (float[2] e, float[2] a) => (float[2] d, float[2] c) { d = Neg (e) r = RandomUniformLike <seed = 1.0> (a) c = Add (r, a) }> (s, x) }"""
    nodes = convert_version(model(text, 11), 7, compare="off").model.graph.node
    assert "Loop" in {node.op_type for node in nodes}
