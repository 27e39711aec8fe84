"""Gelu in pieces: what is written, and what stays because it is something else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers import assert_rewrites, model, run
from onnx import ModelProto, TensorProto, numpy_helper

from split_rewrite.rewriter import Options, convert_version
from split_rewrite.rewriter.opsets.transitions import newest_opset

pytestmark = pytest.mark.skipif(newest_opset() < 20, reason="the installed onnx has no Gelu")

MODERN = Options(modernize=True)
NUMBERS = "<float c = {1.4142135}, float i = {0.70710678}, float h = {0.5}, float o = {1}, float w = {0.044715}, float k = {0.7978846}, float t = {3}>"
HEAD = f"g (float[B,8] x) => (float[B,8] y) {NUMBERS} "
ERF = HEAD + "{ u = Div (x, c) e = Erf (u) p = Add (e, o) a = Mul (x, p) y = Mul (a, h) }"
PRODUCT = HEAD + "{ u = Mul (i, x) e = Erf (u) p = Add (o, e) a = Mul (h, x) y = Mul (a, p) }"
TANH = (
    HEAD
    + "{ z = Pow (x, t) wz = Mul (z, w) s = Add (x, wz) u = Mul (k, s) e = Tanh (u) p = Add (o, e) a = Mul (x, h) y = Mul (a, p) }"
)
CUBE = TANH.replace("z = Pow (x, t)", "xx = Mul (x, x) z = Mul (xx, x)")
REWRITES = [
    ("gelu.gelu", ERF, "{ y = Gelu (x) }"),
    ("gelu.gelu", PRODUCT, "{ y = Gelu (x) }"),
    ("gelu.gelu", TANH, '{ y = Gelu <approximate = "tanh"> (x) }'),
    ("gelu.gelu", CUBE, '{ y = Gelu <approximate = "tanh"> (x) }'),
]
X = np.linspace(-4, 4, 24).reshape(3, 8).astype(np.float32)


@pytest.mark.parametrize(("rule", "before", "after"), REWRITES, ids=["quotient", "product", "tanh", "cube"])
def test_rewrites(rule: str, before: str, after: str) -> None:
    result = assert_rewrites(before, after, rule, 13, 20, MODERN)
    x = X.astype(np.float64)
    curve = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if "tanh" in after else np.vectorize(math.erf)(x / math.sqrt(2))
    np.testing.assert_allclose(run(result, {"x": X})[0], x / 2 * (1 + curve), rtol=1e-5, atol=1e-6)


OTHERS = {
    "nobody asked": (ERF, 20, Options()),
    "the target lacks it": (ERF, 19, MODERN),
    "another divisor": (ERF.replace("1.4142135", "1.414"), 20, MODERN),
    "another half": (ERF.replace("{0.5}", "{0.25}"), 20, MODERN),
    "another one": (ERF.replace("o = {1}", "o = {2}"), 20, MODERN),
    "another value": (ERF.replace("a = Mul (x, p)", "n = Neg (x) a = Mul (n, p)"), 20, MODERN),
    "another weight": (TANH.replace("0.044715", "0.0447"), 20, MODERN),
    "a fourth power": (TANH.replace("t = {3}", "t = {4}"), 20, MODERN),
    "a fourth factor": (CUBE.replace("z = Mul (xx, x)", "x3 = Mul (xx, x) z = Mul (x3, x)"), 20, MODERN),
    "doubles": (ERF.replace("float", "double"), 20, MODERN),
    "the curve is read": (ERF.replace("=> (float[B,8] y)", "=> (float[B,8] y, float[B,8] e)"), 20, MODERN),
    "a half of more dimensions": (
        ERF.replace("float h", "float[1,1,1] h").replace("(float[B,8] y)", "(float[A,B,8] y)"),
        20,
        MODERN,
    ),
}


@pytest.mark.parametrize(("text", "target", "options"), OTHERS.values(), ids=OTHERS)
def test_what_is_something_else_stays(text: str, target: int, options: Options) -> None:
    assert "Gelu" not in operators(convert_version(model(text, 13), target, options=options).model)


@pytest.mark.parametrize("attribute", ["", '<approximate = "tanh">'], ids=["erf", "tanh"])
def test_what_this_program_wrote_for_an_older_opset_comes_back(attribute: str) -> None:
    down = convert_version(model(f"g (float[B,8] x) => (float[B,8] y) {{ y = Gelu {attribute} (x) }}", 20), 13).model
    back = convert_version(down, 20, options=MODERN).model
    assert operators(back) == "Gelu"
    np.testing.assert_allclose(run(back, {"x": X})[0], run(down, {"x": X})[0], rtol=1e-5, atol=1e-6)


def test_a_product_of_many_factors() -> None:
    names = [f"v{index}" for index in range(1500)]
    steps = " ".join(f"{name} = Mul ({before}, x)" for before, name in zip(["x", *names], names, strict=False))
    proto = model(f"g (float[B,8] x) => (float[B,8] {names[-1]}) {{ {steps} }}", 13)
    assert operators(convert_version(proto, 20, compare="off", options=MODERN).model) == " ".join(["Mul"] * 1500)


def test_halves_stay() -> None:
    """The operator would round less than the nodes do."""
    proto = model(ERF, 13)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    assert "Gelu" not in operators(convert_version(proto, 20, options=MODERN).model)


def operators(proto: ModelProto) -> str:
    return " ".join(node.op_type for node in proto.graph.node)
