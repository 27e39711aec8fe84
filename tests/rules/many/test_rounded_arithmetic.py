"""Single operations on bfloat16 below opset 13: in float, and rounded back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from helpers import convert_version, model, refusal, run
from onnx import numpy_helper

REWRITES = [
    (
        "rounded_arithmetic.round_back",
        "g (float[4] x) => (float[4] y) <bfloat16 two = {2}> { a = Cast <to = 16> (x)  b = Mul (a, two)  y = Cast <to = 1> (b) }",
        12,
    ),
]


@pytest.mark.parametrize(("rule", "before", "target"), REWRITES)
def test_rewrites(rule: str, before: str, target: int) -> None:
    result = convert_version(model(before, 13), target)
    assert rule in result.report.applied
    rounding = ["IsNaN", "Abs", "Where", "Clip", "Log", "Mul", "Sub", "Cast", "Gather", "Div", "Round", "Mul"]
    assert [node.op_type for node in result.model.graph.node] == [*rounding, "Mul", *rounding, "Identity"]
    table = next(tensor for tensor in result.model.graph.initializer if tensor.dims == [254])
    assert numpy_helper.to_array(table).tolist() == [2.0**exponent for exponent in range(-133, 121)]


@pytest.mark.parametrize("operator", ["Exp", "ReduceSum", "Softmax"])
def test_refused(operator: str) -> None:
    text = f"g (float[2,3] x) => (float[N,M] y) {{ b = Cast <to = 16> (x)  c = {operator} (b)  y = Cast <to = 1> (c) }}"
    message = refusal(model(text, 13), 12)
    assert message.startswith(f"{operator} 'c' (main graph): it computes in bfloat16, which does not exist before opset 13")


def bfloat16(array: np.ndarray) -> np.ndarray:
    return array.astype(ml_dtypes.bfloat16)


NUMBERS = bfloat16(np.concatenate([np.exp(np.random.default_rng(0).uniform(-40, 40, 3000)), [0, 1, 3e38, np.inf, np.nan]]))


@pytest.mark.parametrize(
    ("node", "computed"),
    [
        ("Add (a, b)", lambda a, b: a + b),
        ("Sub (a, b)", lambda a, b: a - b),
        ("Mul (a, b)", lambda a, b: a * b),
        ("Div (a, b)", lambda a, b: a / b),
        ("Sqrt (a)", lambda a, b: np.sqrt(a)),
        ("Neg (a)", lambda a, b: -a),
        ("Max (a, b)", np.maximum),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_same_as_in_bfloat16(node: str, computed) -> None:
    casts = "a = Cast <to = 16> (x)  b = Cast <to = 16> (y)"
    text = f"g (float[N] x, float[N] y) => (float[N] z) {{ {casts}  c = {node}  z = Cast <to = 1> (c) }}"
    given = {"x": NUMBERS.astype(np.float32), "y": NUMBERS[::-1].astype(np.float32)}
    expected = computed(NUMBERS, NUMBERS[::-1]).astype(np.float32)
    for target in (12, 9):
        (got,) = run(convert_version(model(text, 13), target).model, given)
        np.testing.assert_array_equal(got, expected)
