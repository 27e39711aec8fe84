"""Products between DequantizeLinear and QuantizeLinear as operators of 8-bit integers, and what moves integers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, model, run

from split_rewrite.rewriter import Options, convert_version

QOPERATOR = Options(quantization="qoperator", standard=True)
PARAMETERS = "float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 r = {7}"
WEIGHTS = "int8[2,1,2,2] w = {1,2,3,4,5,6,7,8}, float[2] u = {0.5,0.25}, int8[2] q = {0,0}"
CONV = f"""g (uint8[1,1,2,2] x) => (uint8[1,2,1,1] y) <{PARAMETERS}, {WEIGHTS}, int32[2] b = {{8,-8}}, float[2] v = {{0.25,0.125}}>
    {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear <axis = 0> (w, u, q) d = DequantizeLinear <axis = 0> (b, v)
       e = Conv <strides = [1,1]> (a, c, d) y = QuantizeLinear (e, t, r) }}"""
FLOAT_BIAS = CONV.replace("int32[2] b = {8,-8}, float[2] v = {0.25,0.125}", "float[2] d = {2,-1}").replace(
    "d = DequantizeLinear <axis = 0> (b, v)", ""
)
RELU = CONV.replace("e = Conv <strides = [1,1]> (a, c, d)", "f = Conv <strides = [1,1]> (a, c, d) e = Relu (f)").replace(
    "uint8 r = {7}", "uint8 r = {0}"
)
CLIP = RELU.replace("Relu (f)", "Clip (f, m, n)").replace("<float s", "<float m = {0}, float n = {64}, float s")
MATMUL = f"""g (uint8[2,2] x) => (uint8[2,2] y) <{PARAMETERS}, int8[2,2] w = {{1,2,3,4}}, float u = {{0.5}}>
    {{ a = DequantizeLinear (x, s, z) c = DequantizeLinear (w, u) e = MatMul (a, c) y = QuantizeLinear (e, t, r) }}"""
MOVED = f"""g (uint8[2,3] x) => (uint8[3,2] y) <{PARAMETERS}>
    {{ a = DequantizeLinear (x, s, z) b = Transpose <perm = [1,0]> (a) y = QuantizeLinear (b, s, z) }}"""
POOLED = f"""g (uint8[1,1,4,4] x) => (uint8[1,1,2,2] y) <{PARAMETERS}>
    {{ a = DequantizeLinear (x, s, z) b = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a) y = QuantizeLinear (b, s, z) }}"""
ONE = f"""<{PARAMETERS}, {WEIGHTS}, int32[2] b = {{8,-8}}>
    {{ y = QLinearConv <strides = [1,1]> (x, s, z, w, u, q, t, r, b) }}"""
REWRITES = [
    ("qoperator.convolution", CONV, ONE),
    ("qoperator.convolution", FLOAT_BIAS, ONE),
    ("qoperator.convolution", RELU, ONE.replace("r = {7}", "r = {0}")),
    ("qoperator.convolution", CLIP, ONE.replace("r = {7}", "r = {0}")),
    (
        "qoperator.product",
        MATMUL,
        f"""<{PARAMETERS}, int8[2,2] w = {{1,2,3,4}}, float u = {{0.5}}, int8 q = {{0}}>
        {{ y = QLinearMatMul (x, s, z, w, u, q, t, r) }}""",
    ),
    ("qoperator.moved", MOVED, "{ y = Transpose <perm = [1,0]> (x) }"),
    ("qoperator.moved", POOLED, "{ y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }"),
]
FORMS = [
    "a convolution",
    "a bias in float",
    "a Relu that cuts nothing off",
    "a Clip that cuts nothing off",
    "a product",
    "moved",
    "chosen",
]
OTHERS = {
    "nobody asked": (CONV, Options()),
    "a result that is read": (CONV.replace("(uint8[1,2,1,1] y)", "(uint8[1,2,1,1] y, float[1,2,1,1] e)"), QOPERATOR),
    "a bias in other steps": (CONV.replace("{0.25,0.125}", "{0.25,0.25}"), QOPERATOR),
    "a bias with a zero point": (
        CONV.replace("(b, v)", "(b, v, o)").replace("<float s", "<int32[2] o = {1,1}, float s"),
        QOPERATOR,
    ),
    "a bias beyond int32": (FLOAT_BIAS.replace("{2,-1}", "{1e9,-1}"), QOPERATOR),
    "scales of another axis": (
        CONV.replace("DequantizeLinear <axis = 0> (w, u, q)", "DequantizeLinear <axis = 3> (w, u, q)"),
        QOPERATOR,
    ),
    "a Relu that cuts numbers off": (RELU.replace("uint8 r = {0}", "uint8 r = {7}"), QOPERATOR),
    "a Clip that cuts numbers off": (CLIP.replace("{64}", "{6}"), QOPERATOR),
    "a Clip of open bounds": (
        CLIP.replace("float n = {64}, ", "").replace("(uint8[1,1,2,2] x)", "(uint8[1,1,2,2] x, float n)"),
        QOPERATOR,
    ),
    "signed results of unsigned integers": (
        CONV.replace("uint8 r", "int8 r").replace("(uint8[1,2,1,1] y)", "(int8[1,2,1,1] y)"),
        QOPERATOR,
    ),
    "16 bits": (
        MATMUL.replace("uint8", "uint16"),
        QOPERATOR,
    ),
    "another scale behind": (MOVED.replace("QuantizeLinear (b, s, z)", "QuantizeLinear (b, t, z)"), QOPERATOR),
    "another zero point behind": (MOVED.replace("QuantizeLinear (b, s, z)", "QuantizeLinear (b, s, r)"), QOPERATOR),
    "a bias in coarse steps": (FLOAT_BIAS.replace("{2,-1}", "{2.01,-1}"), QOPERATOR),
    "a Relu before a negative scale": (RELU.replace("float t = {0.25}", "float t = {-0.25}"), QOPERATOR),
    "a scale for each column of many matrices": (
        MATMUL.replace("uint8[2,2] x", "uint8[2,2,2] x")
        .replace("uint8[2,2] y", "uint8[2,2,2] y")
        .replace("DequantizeLinear (w, u)", "DequantizeLinear <axis = 2> (w, u)")
        .replace("int8[2,2] w = {1,2,3,4}", "int8[2,2,2] w = {1,2,3,4,5,6,7,8}")
        .replace("float u = {0.5}", "float[2] u = {0.5,0.25}"),
        QOPERATOR,
    ),
    "a scale for each element of a vector": (
        MATMUL.replace("uint8[2,2] y", "uint8[2] y")
        .replace("DequantizeLinear (w, u)", "DequantizeLinear <axis = 0> (w, u)")
        .replace("int8[2,2] w = {1,2,3,4}", "int8[2] w = {1,2}")
        .replace("float u = {0.5}", "float[2] u = {0.5,0.25}"),
        QOPERATOR,
    ),
    "places without an element": (
        f"g (uint8[1,1,2,2] x, int64[1,1,2,2] i) => (uint8[1,1,4,4] y) <{PARAMETERS}> {{ a = DequantizeLinear (x, s, z) "
        "b = MaxUnpool <kernel_shape = [2,2], strides = [2,2]> (a, i) y = QuantizeLinear (b, s, z) }",
        QOPERATOR,
    ),
    "what chooses and has no integers": (
        POOLED.replace("MaxPool <kernel_shape = [2,2], strides = [2,2]>", "GlobalMaxPool").replace("[1,1,2,2] y", "[1,1,1,1] y"),
        QOPERATOR,
    ),
    "a padding": (
        MOVED.replace("Transpose <perm = [1,0]> (a)", "Pad (a, p)").replace("<float s", "<int64[4] p = {0,0,1,0}, float s"),
        QOPERATOR,
    ),
}


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=FORMS)
def test_rewrites(rule: str, before: str, after: str) -> None:
    assert_rewrites(before, after, rule, 17, 17, QOPERATOR)


@pytest.mark.parametrize(("text", "options"), OTHERS.values(), ids=OTHERS)
def test_what_stays(text: str, options: Options) -> None:
    given = model(text, 21 if "16" in text else 17)
    result = convert_version(given, 21 if "uint16" in text else 17, options=options).model
    assert [node.op_type for node in result.graph.node] == [node.op_type for node in given.graph.node]


def test_a_clip_of_attributes_cuts_off() -> None:
    text = (
        CLIP.replace("<axis = 0> ", "")
        .replace("float[2] u = {0.5,0.25}", "float u = {0.5}")
        .replace("int8[2] q = {0,0}", "int8 q = {0}")
    )
    text = text.replace("Clip (f, m, n)", "Clip <min = 0.0, max = 6.0> (f)").replace(
        "float[2] v = {0.25,0.125}", "float v = {0.25}"
    )
    result = convert_version(model(text, 10), 10, options=QOPERATOR).model
    assert "QLinearConv" not in {node.op_type for node in result.graph.node}


@pytest.mark.parametrize("text", [CONV, FLOAT_BIAS, RELU, CLIP, MATMUL, MOVED, POOLED])
def test_numbers_are_at_most_a_step_apart(text: str) -> None:
    given = model(text, 17)
    result = convert_version(given, 17, options=QOPERATOR).model
    shape = [dim.dim_value for dim in given.graph.input[0].type.tensor_type.shape.dim]
    for seed in range(5):
        inputs = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
        left, right = (run(each, inputs)[0].astype(int) for each in (given, result))
        assert abs(left - right).max() <= (0 if text in (MOVED, POOLED) else 1)
