"""Operators between DequantizeLinear and QuantizeLinear as onnxruntime's own on 8-bit integers."""

from __future__ import annotations

import re

import numpy as np
import onnxruntime
import pytest
from helpers import model, run

from split_rewrite.rewriter import Options, convert_version

QOPERATOR = Options(quantization="qoperator")
PARAMETERS = "float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 r = {7}"
HEAD = f"g (uint8[N,2,4,4] x, uint8[N,2,4,4] o) => (uint8[N,C,H,W] y) <{PARAMETERS}> {{ a = DequantizeLinear (x, s, z) "
BOTH = HEAD + "d = DequantizeLinear (o, t, r) "
TAIL = " y = QuantizeLinear (e, t, r) }"
LINEAR = f"""g (uint8[N,3] x) => (uint8[N,2] y)
    <{PARAMETERS}, int8[2,3] w = {{1,-2,3,4,5,-6}}, float[2] u = {{0.5,0.25}}, int8[2] q = {{0,0}}, float[2] b = {{3,-4}}>
    {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 0> (w, u, q) e = Gemm <transB = 1> (a, c, b) y = QuantizeLinear (e, t, r) }}"""
REWRITES = [
    ("qoperator_onnxruntime.addition", "QLinearAdd", BOTH + "e = Add (a, d)" + TAIL),
    ("qoperator_onnxruntime.multiplication", "QLinearMul", BOTH + "e = Mul (a, d)" + TAIL),
    ("qoperator_onnxruntime.sigmoid", "QLinearSigmoid", HEAD + "e = Sigmoid (a)" + TAIL.replace("(e, t, r)", "(e, k, l)")),
    ("qoperator_onnxruntime.leaky_relu", "QLinearLeakyRelu", HEAD + "e = LeakyRelu <alpha = 0.25> (a)" + TAIL),
    (
        "qoperator_onnxruntime.softmax",
        "QLinearSoftmax",
        HEAD + "e = Softmax <axis = 1> (a)" + TAIL.replace("(e, t, r)", "(e, k, l)"),
    ),
    (
        "qoperator_onnxruntime.average",
        "QLinearAveragePool",
        HEAD + "e = AveragePool <kernel_shape = [2,2], strides = [2,1], pads = [1,0,1,1], count_include_pad = 1> (a)" + TAIL,
    ),
    ("qoperator_onnxruntime.average_of_all", "QLinearGlobalAveragePool", HEAD + "e = GlobalAveragePool (a)" + TAIL),
    ("qoperator_onnxruntime.concatenation", "QLinearConcat", BOTH + "e = Concat <axis = 1> (a, d)" + TAIL),
    ("qoperator_onnxruntime.linear", "QGemm", LINEAR),
]
TEXTS = {name: text for _, name, text in REWRITES}
FINE = f"<{PARAMETERS}, float k = {{0.00390625}}, uint8 l = {{0}}>"
STAYS = {
    "ceil_mode": HEAD + "e = AveragePool <kernel_shape = [2,2], strides = [2,2], ceil_mode = 1> (a)" + TAIL,
    "alpha": LINEAR.replace("transB = 1", "transB = 1, alpha = 2.0"),
    "a bias for each row": LINEAR.replace("float[2] b = {3,-4}", "int32[2,2] i = {3,-4,5,6}, float[2] v = {0.25,0.125}")
    .replace("N", "2")
    .replace("e = Gemm", "b = DequantizeLinear <axis = 0> (i, v) e = Gemm"),
    "other types": TEXTS["QLinearAdd"]
    .replace("uint8[N,2,4,4] o", "int8[N,2,4,4] o")
    .replace("d = DequantizeLinear (o, t, r)", "d = DequantizeLinear (o, t)"),
    "a bias for all columns": LINEAR.replace("float[2] b = {3,-4}", "int32 i = {3}, float v = {0.25}").replace(
        "e = Gemm", "b = DequantizeLinear (i, v) e = Gemm"
    ),
    "a softmax of a negative scale": TEXTS["QLinearSoftmax"].replace(f"<{PARAMETERS}>", FINE.replace("s = {", "s = {-")),
    "a real number": BOTH + "n = Neg (d) e = Add (a, n)" + TAIL,
}


@pytest.mark.parametrize(("rule", "name", "text"), REWRITES, ids=TEXTS)
def test_written_and_at_most_a_step_apart(rule: str, name: str, text: str) -> None:
    given = model(text.replace(f"<{PARAMETERS}>", FINE), 17)
    result = convert_version(given, 17, options=QOPERATOR)
    assert rule in result.report.applied
    assert [(node.domain, node.op_type) for node in result.model.graph.node] == [("com.microsoft", name)]
    rng = np.random.default_rng(3)
    for batch in (1, 3):
        shapes = {"x": (batch, 3)} if name == "QGemm" else {"x": (batch, 2, 4, 4), "o": (batch, 2, 4, 4)}
        inputs = {each: rng.integers(0, 256, shape).astype(np.uint8) for each, shape in shapes.items()}
        left, right = (run(each, inputs)[0].astype(int) for each in (given, result.model))
        assert left.shape == right.shape
        assert abs(left - right).max() <= 1


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_what_stays(text: str) -> None:
    result = convert_version(model(text, 17), 17, options=QOPERATOR).model
    assert {node.domain for node in result.graph.node} == {""}


@pytest.mark.parametrize(
    "options",
    [Options(quantization="qoperator", standard=True), Options(quantization="qoperator", for_runtimes=["openvino-2024.2"])],
)
def test_only_where_onnxruntimes_own_operators_may_be(options: Options) -> None:
    result = convert_version(model(TEXTS["QLinearAdd"], 13), 13, options=options).model
    assert {node.domain for node in result.graph.node} == {""}


def test_below_13_softmax_is_over_several_axes() -> None:
    text = TEXTS["QLinearSoftmax"].replace(f"<{PARAMETERS}>", FINE)
    assert "QLinearSoftmax" not in {
        node.op_type for node in convert_version(model(text, 11), 11, options=QOPERATOR).model.graph.node
    }


@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearConcat"])
def test_vectors_of_one_become_scalars(name: str) -> None:
    """The kernels take scalars only, and DequantizeLinear both."""
    given = model(re.sub(r"(float|uint8) ([a-z] = )", r"\1[1] \2", TEXTS[name].replace(f"<{PARAMETERS}>", FINE)), 17)
    result = convert_version(given, 17, options=QOPERATOR).model
    assert [node.op_type for node in result.graph.node] == [name]
    onnxruntime.InferenceSession(result.SerializeToString())
