"""Scan below opset 8, written out step by step."""

import numpy as np
import pytest
from helpers import assert_same, convert_version, model, refusal

SCAN = """g (float[2] s, float[{dims}] x) => (float[2] last, float[{out}] all) {{
    last, all = Scan <num_scan_inputs=1{attributes}, body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {{
        c = Add (a, b)  d = Mul (c, s) }}> (s, x) }}"""


@pytest.mark.parametrize(
    "dims, out, reason",
    [
        pytest.param("N,2", "N,2", "axis dimension 'N' of 'x' is unknown", id="steps at run time"),
    ],
)
def test_refused(dims, out, reason):
    assert reason in refusal(model(SCAN.format(dims=dims, out=out, attributes=""), 11), 7)


@pytest.mark.parametrize("attributes", [", scan_output_directions=[1]", ", scan_output_axes=[1]"])
def test_refuses_many_steps_stacked_otherwise(attributes):
    proto = model(SCAN.format(dims="17,2", out="A,B", attributes=attributes), 11)
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
    result = assert_same(model(SCAN.format(dims=dims, out="40,2", attributes=attributes), opset), target, given)
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
def test_steps(attributes, dims, out):
    shape = tuple(int(dim) for dim in dims.split(","))
    given = {"s": np.array([0.5, -2], np.float32), "x": np.arange(6, dtype=np.float32).reshape(shape)}
    assert_same(model(SCAN.format(dims=dims, out=out, attributes=attributes), 11), 7, given)
