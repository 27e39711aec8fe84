"""Products of 8-bit integers, and what moves these, as operators of real numbers."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from helpers import assert_rewrites, model, run
from onnx import ModelProto, parser

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

QDQ = Options(quantization="qdq")
PARAMETERS = "float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 r = {7}"
CONV = f"""g (uint8[1,1,2,2] x) => (uint8[1,2,1,1] y)
    <{PARAMETERS}, int8[2,1,2,2] w = {{1,2,3,4,5,6,7,8}}, float[2] u = {{0.5,0.25}}, int8[2] q = {{0,0}}, int32[2] b = {{8,-8}}>
    {{ y = QLinearConv <strides = [1,1]> (x, s, z, w, u, q, t, r, b) }}"""
PLAIN = f"""g (uint8[1,1,2,2] x) => (uint8[1,1,1,1] y) <{PARAMETERS}, int8[1,1,2,2] w = {{1,2,3,4}}, float[1] u = {{0.5}}, int8 q = {{0}}>
    {{ y = QLinearConv (x, s, z, w, u, q, t, r) }}"""
MATMUL = f"""g (uint8[2,2] x) => (uint8[2,2] y) <{PARAMETERS}, int8[2,2] w = {{1,2,3,4}}, float[2] u = {{0.5,0.25}}, int8 q = {{0}}>
    {{ y = QLinearMatMul (x, s, z, w, u, q, t, r) }}"""
MOVED = f"""g (float[2,3] x) => (float[3,2] y) <{PARAMETERS}>
    {{ i = QuantizeLinear (x, s, z) j = Transpose <perm = [1,0]> (i) y = DequantizeLinear (j, s, z) }}"""
QGEMM = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
g (uint8[M,3] x) => (TYPE[M,2] y) <float s = {0.1}, uint8 z = {9}, float t = {0.2}, uint8 r = {40},
    int8[SHAPE] w = {1,-2,3,4,5,-6}, float[2] u = {0.5,0.25}, int8[2] q = {0,0}, int32[2] b = {80,-8}>
{ y = com.microsoft.QGemm <transB = TURNED> (x, s, z, w, u, q, bTAIL) }"""


def _qgemm(tail: str, shape: str, turned: int) -> ModelProto:
    text = QGEMM.replace("TAIL", tail).replace("SHAPE", shape).replace("TURNED", str(turned))
    return parser.parse_model(text.replace("TYPE", "uint8" if tail else "float"))


REWRITES = [
    (
        "qdq.convolution",
        CONV,
        f"""<{PARAMETERS}, int8[2,1,2,2] w = {{1,2,3,4,5,6,7,8}}, float[2] u = {{0.5,0.25}}, int8[2] q = {{0,0}}, int32[2] b = {{8,-8}},
            float[2] v = {{0.25,0.125}}>
        {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 0> (w, u, q) d = DequantizeLinear <axis = 0> (b, v)
           e = Conv <strides = [1,1]> (a, c, d) y = QuantizeLinear (e, t, r) }}""",
    ),
    (
        "qdq.convolution",
        PLAIN,
        f"""<{PARAMETERS}, int8[1,1,2,2] w = {{1,2,3,4}}, float u = {{0.5}}, int8 q = {{0}}>
        {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear (w, u, q) e = Conv (a, c) y = QuantizeLinear (e, t, r) }}""",
    ),
    (
        "qdq.product",
        MATMUL,
        f"""<{PARAMETERS}, int8[2,2] w = {{1,2,3,4}}, float[2] u = {{0.5,0.25}}, int8[2] q = {{0,0}}>
        {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 1> (w, u, q) e = MatMul (a, c)
           y = QuantizeLinear (e, t, r) }}""",
    ),
    (
        "qdq.moved",
        MOVED,
        f"""<{PARAMETERS}>
        {{ i = QuantizeLinear (x, s, z) a = DequantizeLinear (i, s, z) b = Transpose <perm = [1,0]> (a)
           j = QuantizeLinear (b, s, z) y = DequantizeLinear (j, s, z) }}""",
    ),
    (
        "qdq.linear",
        _qgemm(", t, r", "2,3", 1),
        """<float s = {0.1}, uint8 z = {9}, int8[2,3] w = {1,-2,3,4,5,-6}, float[2] u = {0.5,0.25}, int8[2] q = {0,0},
            int32[2] b = {80,-8}, float[2] v = {0.05,0.025}, float t = {0.2}, uint8 r = {40}>
        { a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 0> (w, u, q) d = DequantizeLinear <axis = 0> (b, v)
          e = Gemm <transB = 1> (a, c, d) y = QuantizeLinear (e, t, r) }""",
    ),
]
FORMS = ["a scale for each channel", "one scale", "a scale for each column", "moved", "onnxruntime's own"]
OTHERS = {
    "nobody asked": (CONV, Options()),
    "scales that are computed": (CONV.replace("(uint8[1,1,2,2] x)", "(uint8[1,1,2,2] x, float[N] u)"), QDQ),
    "zero points that are computed": (
        CONV.replace("(uint8[1,1,2,2] x)", "(uint8[1,1,2,2] x, int8[N] q)").replace(", int8[2] q = {0,0}", ""),
        QDQ,
    ),
    "integers of the graph are moved": (
        f"g (uint8[2,3] x) => (float[3,2] y) <{PARAMETERS}> {{ j = Transpose <perm = [1,0]> (x) y = DequantizeLinear (j, s, z) }}",
        QDQ,
    ),
    "a padding of 0 is another number": (
        MOVED.replace("Transpose <perm = [1,0]> (i)", "Pad (i, p)").replace("uint8 z =", "int64[4] p = {0,0,1,0}, uint8 z ="),
        QDQ,
    ),
    "a scale that does not come back": (MOVED.replace("{0.5}", "{1e-35}"), QDQ),
    "an update": (
        MOVED.replace("Transpose <perm = [1,0]> (i)", "ScatterND (i, p, k)").replace(
            "uint8 z =", "int64[1,1] p = {0}, uint8[1,3] k = {1,2,3}, uint8 z ="
        ),
        QDQ,
    ),
}


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=FORMS)
def test_rewrites(rule: str, before: str | ModelProto, after: str) -> None:
    assert_rewrites(before, after, rule, 13, 17, QDQ)


@pytest.mark.parametrize(("text", "options"), OTHERS.values(), ids=OTHERS)
def test_what_stays(text: str, options: Options) -> None:
    given = model(text, 17)
    result = convert_version(given, 17, options=options).model
    assert [node.op_type for node in result.graph.node] == [node.op_type for node in given.graph.node]


def test_qgemm_with_zero_points_of_unknown_number() -> None:
    text = _qgemm(", t, r", "2,3", 1)
    zeros = next(tensor for tensor in text.graph.initializer if tensor.name == "q")
    text.graph.initializer.remove(zeros)
    text.graph.input.append(onnx.helper.make_tensor_value_info("q", onnx.TensorProto.INT8, ["N"]))
    with pytest.raises(UnconvertibleError, match="nothing tells how many numbers 'q' has"):
        convert_version(text, 17, options=QDQ)


@pytest.mark.parametrize(("text", "kept"), [(PLAIN, 2), (CONV, 3)], ids=["one scale", "a scale for each channel"])
def test_an_older_opset_has_one_scale_for_all_channels(text: str, kept: int) -> None:
    given = model(text, 11)
    result = convert_version(given, 10, options=QDQ).model
    operators = [node.op_type for node in result.graph.node]
    assert "QLinearConv" not in operators
    assert operators.count("DequantizeLinear") == kept
    inputs = {"x": np.array([9, 200, 0, 77], np.uint8).reshape(1, 1, 2, 2)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])


@pytest.mark.parametrize("c", ["int32 c = {1209}", "int32[1] c = {1209}", "int32[2,1] c = {1209,-500}"])
def test_a_bias_of_other_columns_than_the_scales(c: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> g (uint8[2,3] x) => (uint8[2,2] y) <{PARAMETERS},
        int8[3,2] w = {{1,-2,3,4,5,-6}}, float[2] u = {{0.5,0.25}}, int8[2] q = {{0,0}}, {c}>
        {{ y = com.microsoft.QGemm (x, s, z, w, u, q, c, t, r) }}"""
    given = parser.parse_model(text)
    result = convert_version(given, 17, options=QDQ).model
    inputs = {"x": np.arange(6, dtype=np.uint8).reshape(2, 3)}
    np.testing.assert_array_equal(run(result, inputs)[0], run(given, inputs)[0])
    assert convert_version(result, 17, options=QDQ).model == result
    convert_version(result, 17, options=Options(quantization="qoperator"))


@pytest.mark.parametrize("target", [11, 12])
def test_scales_of_each_channel_stay_apart_in_the_default_session(target: int) -> None:
    """onnxruntime folds weights that are computed, and quantizes them with one scale for all."""
    text = """g (uint8[1,1,1,4] x) => (uint8[1,2,1,4] y) <float s = {0.01}, uint8 z = {0}, int8[2,1,1,1] w = {100,100},
        float[2] u = {0.0001,1}, int8[2] q = {0,0}, float t = {0.001}>
        { a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 0> (w, u, q) d = Conv (a, c) y = QuantizeLinear (d, t, z) }"""
    given = model(text, 13)
    result = convert_version(given, target).model
    inputs = {"x": np.array([10, 50, 100, 200], np.uint8).reshape(1, 1, 1, 4)}
    (found,) = onnxruntime.InferenceSession(result.SerializeToString()).run(None, inputs)
    np.testing.assert_array_equal(found, [[[[1, 5, 10, 20]], [[255, 255, 255, 255]]]])


@pytest.mark.parametrize("seed", range(12))
def test_a_convolution_is_at_most_a_step_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signed = bool(rng.integers(2))
    kind, low, high = ("int8", -128, 128) if signed else ("uint8", 0, 256)
    group, size = int(rng.choice([1, 2])), int(rng.integers(1, 4))
    strides, pads = int(rng.integers(1, 3)), int(rng.integers(0, 2))
    scales = rng.choice([1, 4]) * 0.01
    weights = rng.integers(-60, 61, (4, 2 // group, size, size))  # sums of two products fit into 16 bits
    numbers = ",".join(map(str, weights.reshape(-1)))
    u = ",".join(f"{scale:.5f}" for scale in rng.uniform(0.01, 0.03, 4))
    bias = ",".join(map(str, rng.integers(-900, 900, 4)))
    text = f"""g ({kind}[N,2,5,6] x) => ({kind}[N,4,H,W] y) <float s = {{{scales}}}, {kind} z = {{{rng.integers(low, high)}}}, float t = {{0.4}},
        {kind} r = {{{rng.integers(low, high)}}}, int8[4,{2 // group},{size},{size}] w = {{{numbers}}}, float[4] u = {{{u}}}, int8[4] q = {{0,0,0,0}},
        int32[4] b = {{{bias}}}>
        {{ y = QLinearConv <strides = [{strides},{strides}], pads = [{pads},0,{pads},{pads}], group = {group}> (x, s, z, w, u, q, t, r, b) }}"""
    given = model(text, 13)
    result = convert_version(given, 18, options=QDQ).model
    assert "QLinearConv" not in {node.op_type for node in result.graph.node}
    inputs = {"x": rng.integers(low, high, (2, 2, 5, 6)).astype(kind)}
    left, right = run(given, inputs)[0].astype(int), run(result, inputs)[0].astype(int)
    assert abs(left - right).max() <= 1
    back = convert_version(result, 18, options=Options(quantization="qoperator")).model
    assert [node.op_type for node in back.graph.node] == ["QLinearConv"]
    np.testing.assert_array_equal(run(back, inputs)[0], left)


@pytest.mark.parametrize("tail", [", t, r", ""], ids=["quantized", "float"])
@pytest.mark.parametrize(("shape", "turned"), [("3,2", 0), ("2,3", 1)])
def test_qgemm(tail: str, shape: str, turned: int) -> None:
    given = _qgemm(tail, shape, turned)
    result = convert_version(given, 17, options=QDQ).model
    names = ["DequantizeLinear"] * 3 + ["Gemm"] + (["QuantizeLinear"] if tail else [])
    assert sorted(node.op_type for node in result.graph.node) == sorted(names)
    inputs = {"x": np.random.default_rng(0).integers(0, 256, (5, 3)).astype(np.uint8)}
    left, right = (run(each, inputs)[0].astype(np.float64) for each in (given, result))
    np.testing.assert_allclose(left, right, atol=1 if tail else 1e-4)


def test_a_type_that_an_attribute_states_is_kept() -> None:
    text = "g (float[2,3] x) => (int8[3,2] y) <float s = {0.1}> { q = QuantizeLinear <output_dtype = 3> (x, s) y = Transpose <perm = [1,0]> (q) }"
    result = convert_version(model(text, 21), 21, options=QDQ).model
    assert [node.op_type for node in result.graph.node] == ["QuantizeLinear", "DequantizeLinear", "Transpose", "QuantizeLinear"]
    x = {"x": np.linspace(-20, 20, 6, dtype=np.float32).reshape(2, 3)}
    np.testing.assert_array_equal(run(result, x)[0], run(model(text, 21), x)[0])
