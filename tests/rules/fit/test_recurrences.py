"""Recurrent operators step by step, for runtimes that have none: refused first, then what onnxruntime computes of both."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from fitting import for_a_list
from helpers import assert_rewrites, convert_version, model, run
from onnx import numpy_helper

from split_rewrite.rewriter import UnconvertibleError

ALLOWED = ["Add", "Concat", "MatMul", "Mul", "Sigmoid", "Slice", "Split", "Sub", "Tanh", "Unsqueeze"]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
REWRITES = [
    (
        "recurrences.step_by_step",
        ALLOWED,
        "",
        "g (float[2,1,1] x) => (float[1,1,1] h) <float[1,1,1] w = {2}, float[1,1,1] r = {3}> { y, h = RNN<hidden_size = 1>(x, w, r) }",
        """
            <float[1,1] v1 = {2}, float[1] v2 = {0}, int64[2] v3 = {1,1}, float[1,1,1] v4 = {0}, float[1,1] v5 = {3}>
            {
             m = MatMul (x, v1)
             a = Add (m, v2)
             s, t = Split <axis = 0> (a, v3)
             b = Add (s, v4)
             c = Tanh (b)
             d = MatMul (c, v5)
             e = Add (d, v4)
             f = Add (t, e)
             h = Tanh (f)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "operators", "rules", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, operators: list[str], rules: str, before: str, after: str, tmp_path: Path) -> None:
    assert_rewrites(before, after, rule, 14, 14, for_a_list(tmp_path, operators, rules))


def recurrent(op_type: str, attributes: str = "", steps: str = "3", more: str = ", , h0") -> onnx.ModelProto:
    """A recurrent node with random weights of 2 inputs and 3 hidden numbers, and its outputs."""
    count, rng = 2 if "bidirectional" in attributes else 1, np.random.default_rng(3)
    outputs = ["y", "h", "c"][: 3 if op_type == "LSTM" else 2]
    proto = model(
        f"g (float[{steps},2,2] x, float[{count},2,3] h0) => ({', '.join(f'float[] {name}' for name in outputs)}) "
        f"{{ {', '.join(outputs)} = {op_type}<hidden_size = 3{attributes}>(x, w, r, b{more}) }}",
        14,
    )
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    rows = GATES[op_type] * 3
    for name, shape in (("w", [count, rows, 2]), ("r", [count, rows, 3]), ("b", [count, 2 * rows])):
        proto.graph.initializer.append(numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name))
    return proto


REFUSED = {
    "many steps": (recurrent("RNN", steps="65"), "it has 65 steps: 1 to 64 are written out"),
    "an open length": (recurrent("GRU", steps="N"), "dimension 'N' of 'x' is unknown"),
    "activations": (recurrent("RNN", ', activations = ["Relu"]'), "it has other activations than the usual ones"),
    "clip": (recurrent("LSTM", ", clip = 1.0"), "clip, input_forget or layout=1"),
}


@pytest.mark.parametrize(("proto", "reason"), REFUSED.values(), ids=REFUSED)
def test_other_forms_are_refused(proto: onnx.ModelProto, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(proto, None, options=for_a_list(tmp_path, ALLOWED))
    assert reason in str(caught.value)
    assert "expansion.constant" not in str(caught.value), "a form that says nothing of its own is not named"


@pytest.mark.parametrize(
    ("op_type", "direction", "state", "linear"),
    itertools.product(GATES, ("forward", "reverse", "bidirectional"), (", , h0", ""), (0, 1)),
)
def test_it_is_what_onnxruntime_computes(op_type: str, direction: str, state: str, linear: int, tmp_path: Path) -> None:
    more = f", linear_before_reset = {linear}" if op_type == "GRU" else ""
    state += ", h0" if op_type == "LSTM" and state else ""
    proto = recurrent(op_type, f', direction = "{direction}"{more}', more=state)
    result, report = convert_version(proto, None, options=for_a_list(tmp_path, ALLOWED), compare="required")
    assert {node.op_type for node in result.graph.node} <= set(ALLOWED)
    assert {change.rule for change in report.changes if change.op_type == op_type} == {"recurrences.step_by_step"}
    rng = np.random.default_rng(5)
    inputs = {
        value.name: rng.normal(size=[dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
        for value in proto.graph.input
    }
    for found, expected in zip(run(result, inputs), run(proto, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
