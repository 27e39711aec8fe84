"""Scan below opset 8, written out step by step."""

import numpy as np
import pytest
from helpers import assert_same, model, refusal

SCAN = """g (float[2] s, float[{dims}] x) => (float[2] last, float[{out}] all) {{
    last, all = Scan <num_scan_inputs=1{attributes}, body = step (float[2] a, float[2] b) => (float[2] c, float[2] d) {{
        c = Add (a, b)  d = Mul (c, s) }}> (s, x) }}"""


@pytest.mark.parametrize(
    "dims, out, reason",
    [
        pytest.param("N,2", "N,2", "axis dimension 'N' of 'x' is unknown", id="steps at run time"),
        pytest.param("17,2", "17,2", "a Scan of 17 steps is not written out", id="many steps"),
    ],
)
def test_refused(dims, out, reason):
    assert reason in refusal(model(SCAN.format(dims=dims, out=out, attributes=""), 11), 7)


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
