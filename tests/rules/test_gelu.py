"""Gelu below opset 20."""

import math

import numpy as np
import onnxruntime
import pytest
from helpers import assert_rewrites, convert_version, known, model, optimized, run
from onnx import TensorProto

from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 20, reason="the installed onnx has no Gelu")

ERF = "g (float[3,8] x) => (float[3,8] y) { y = Gelu (x) }"
TANH = 'g (float[3,8] x) => (float[3,8] y) { y = Gelu <approximate = "tanh"> (x) }'
X = np.linspace(-4, 4, 24).reshape(3, 8).astype(np.float32)


def test_the_exact_form():
    result = convert_version(model(ERF, 20), 13).model
    expected = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in X.ravel().tolist()]
    np.testing.assert_allclose(run(result, {"x": X})[0].ravel(), expected, rtol=1e-5, atol=1e-6)


def test_the_approximation():
    result = convert_version(model(TANH, 20), 13).model
    x = X.astype(np.float64)
    expected = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(run(result, {"x": X})[0], expected, rtol=1e-5, atol=1e-6)


def test_the_approximation_of_doubles_has_the_factors_that_the_specification_has():
    """They are floats there; runtimes, which compute it by ONNX's function body, differ from the usual ones in the ninth digit."""
    proto = model('g (double[2] x) => (double[2] y) { y = Gelu <approximate = "tanh"> (x) }', 20)
    x = np.array([2.25, -0.5])
    result = convert_version(proto, 17).model
    np.testing.assert_allclose(run(result, {"x": x})[0], run(proto, {"x": x})[0], rtol=1e-14)


@pytest.mark.parametrize("target", [9, 12, 13, 17])
@pytest.mark.parametrize("text, fused", [(ERF, "Gelu"), (TANH, "FastGelu")], ids=["erf", "tanh"])
def test_onnxruntime_recognizes_it(text, fused, target):
    # FastGelu is found neither at an input nor at an output of the graph.
    inside = text.replace("x) => (float[3,8] y) { y", "w) => (float[3,8] z) { x = Sin (w)  y").replace(" }", "  z = Cos (y) }")
    assert optimized(convert_version(model(inside, 20), target).model) == sorted(["Sin", "Cos", fused])


BESIDE = {
    "the form with erf": "q = Gelu (x)",
    "another of its kind": 'q = Gelu <approximate = "tanh"> (x)',
    "half of it": "q = Mul (x, half)",
    "half of it, the other way round": "q = Mul (half, x)",
    "half of it in a gate": "q = Swish <alpha = 0.5> (x)",
    "half of an equal value": "e = Sin (w) q = Mul (half, e)",
    "half of a copy": "e = Cast <to = 1> (x) q = Mul (half, e)",
    "another of an equal value": 'e = Sin (w) q = Gelu <approximate = "tanh"> (e)',
}


@pytest.mark.parametrize("opset", [20, 24])
@pytest.mark.parametrize("beside", BESIDE)
def test_what_else_reads_its_input_survives_the_fusion(beside: str, opset: int) -> None:
    """onnxruntime removed half of x with the tanh, and the model did not load."""
    if opset > newest_opset() or ("Swish" in BESIDE[beside] and opset < 24):
        pytest.skip("not in this opset")
    nodes = f'x = Sin (w) p = Gelu <approximate = "tanh"> (x) {BESIDE[beside]} s = Cos (p) t = Abs (q)'
    proto = model(f"g (float[3,8] w) => (float[3,8] s, float[3,8] t) <float half = {{0.5}}> {{ {nodes} }}", opset)
    result = convert_version(proto, 17).model
    loaded = onnxruntime.InferenceSession(result.SerializeToString()).run(None, {"w": X})
    x = np.sin(X.astype(np.float64))
    expected = np.cos(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    np.testing.assert_allclose(loaded[0], expected, rtol=1e-5, atol=1e-6)


def test_half_precision_does_not_overflow_where_the_result_does_not():
    text = "g (float16[2] x) => (float16[2] y) { y = Gelu (x) }"
    x = np.array([60000, -60000], np.float16)
    np.testing.assert_array_equal(run(convert_version(model(text, 20), 13).model, {"x": x})[0], np.array([60000, 0], np.float16))


@pytest.mark.parametrize("target", known(13, 19))
def test_bfloat16_has_constants_of_its_own(target):
    result = convert_version(model("g (bfloat16[2] x) => (bfloat16[2] y) { y = Gelu (x) }", 20), target).model
    assert [node.op_type for node in result.graph.node] == ["Div", "Erf", "Add", "Mul", "Mul"]
    assert {tensor.data_type for tensor in result.graph.initializer} == {TensorProto.BFLOAT16}


REWRITES = [
    (
        "gelu.in_elementary_functions",
        20,
        13,
        "g (float[3,8] x) => (float[3,8] y) { y = Gelu (x) }",
        """
            <float sqrt2 = {1.4142135}, float one = {1}, float half = {0.5}>
            {
              scaled = Div (x, sqrt2)
              erf = Erf (scaled)
              share = Add (erf, one)
              half_2 = Mul (x, half)
              y = Mul (half_2, share)
            }
        """,
    ),
    (
        "gelu.in_elementary_functions",
        20,
        13,
        'g (float[3,8] x) => (float[3,8] y) { y = Gelu <approximate = "tanh"> (x) }',
        """
            <float three = {3}, float weight = {0.044715}, float scale = {0.7978846}, float one = {1}, float[1] half = {0.5}>
            {
              cube = Pow (x, three)
              weighted = Mul (cube, weight)
              inner = Add (x, weighted)
              scaled = Mul (inner, scale)
              tanh = Tanh (scaled)
              share = Add (tanh, one)
              half_2 = Mul (half, x)
              y = Mul (half_2, share)
            }
        """,
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
