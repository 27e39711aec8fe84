"""float16 in onnx.reference: what stays as it is first, then what is rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import convert_version, model, run
from onnx.reference import ReferenceEvaluator

from split_rewrite.rewriter import Options
from split_rewrite.rewriter.opsets.one_rounding import round_once

X = np.array([[300, -300, 100, 0]], np.float16)
DEVIATION = X.astype(np.float64) - 25
NORMAL = DEVIATION / np.sqrt(np.mean(np.square(DEVIATION)))


def halves(*values: float) -> str:
    """Numbers in float16 as onnx.parser takes them, by their bits."""
    return ", ".join(str(np.float16(value).view(np.uint16)) for value in values)


def reference(text: str, opset: int = 17) -> list[np.ndarray]:
    return round_once(ReferenceEvaluator(model(text, opset))).run(None, {"x": X})


def test_what_is_of_another_type_stays() -> None:
    (y,) = reference("g (float16[1,4] x) => (float[1,4] y) { y = Cast<to = 1>(x) }")
    assert y.dtype == np.float32
    (y,) = reference("g (float16[1,4] x) => (bool[1,4] y) { y = IsNaN(x) }")
    assert y.dtype == np.bool_


def test_what_quantizes_divides_in_its_own_type() -> None:
    text = f"g (float16[1,4] x) => (int8[1,4] y) <float16 s = {{{halves(3)}}}> {{ y = QuantizeLinear(x, s) }}"
    plain = ReferenceEvaluator(model(text, 19)).run(None, {"x": X})
    np.testing.assert_array_equal(reference(text, 19)[0], plain[0])


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("LayerNormalization<axis = 1>(x, w)", NORMAL),
        ("ReduceL2(x)", [[np.sqrt(190_000)]]),
        ("Mean(m, m)", [[40_000]]),
        ("LpNormalization(x)", X.astype(np.float64) / np.sqrt(190_000)),
        ("ReduceSumSquare(x)", [[np.inf]]),
    ],
)
def test_results_are_rounded_once(node: str, expected: np.ndarray) -> None:
    stored = f"float16[4] w = {{{halves(1, 1, 1, 1)}}}, float16[1,1] m = {{{halves(40_000)}}}"
    (y,) = reference(f"g (float16[1,4] x) => (float16[A,B] y) <{stored}> {{ y = {node} }}")
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, np.float64(expected), rtol=2**-11)


def test_constants_are_folded_as_runtimes_compute_them() -> None:
    """OpenCV computes nothing of constants alone."""
    stored = f"float16[1,4] k = {{{halves(300, -300, 100, 0)}}}, float16[4] w = {{{halves(1, 1, 1, 1)}}}"
    text = f"g (float16[1,4] x) => (float16[1,4] y) <{stored}> {{ r = LayerNormalization(k, w) y = Add(x, r) }}"
    options = Options(for_runtimes=["opencv-5.0"], verify=False)
    result = convert_version(model(text, 17), None, options=options, compare="required").model
    assert [node.op_type for node in result.graph.node] == ["Constant", "Add"]
    np.testing.assert_allclose(run(result, {"x": np.zeros((1, 4), np.float16)})[0], NORMAL, rtol=2**-10)


@pytest.mark.parametrize(
    "nodes",
    [
        "r = LogSoftmax(k) y = Add(x, r)",  # the reference takes the logarithm of 0
        'r = Resize<mode = "linear">(k, , s) y = Add(x, r)',  # onnxruntime copies what keeps its shape
    ],
)
def test_what_the_reference_computes_otherwise_is_not_folded(nodes: str) -> None:
    stored = "float[1,3] k = {0, 200, -5}, float[2] s = {1, 1.3}"
    text = f"g (float[1,3] x) => (float[1,3] y) <{stored}> {{ {nodes} }}"
    result = convert_version(model(text, 13), None, options=Options(for_runtimes=["opencv-5.0"], verify=False)).model
    assert "Constant" not in [node.op_type for node in result.graph.node]
