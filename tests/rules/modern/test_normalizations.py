"""LayerNormalization and RMSNormalization in pieces: what is written, and what stays because it is something else."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_rewrites, known, model, run
from onnx import ModelProto, TensorProto, numpy_helper

from split_rewrite.rewriter import Options, convert_version

MODERN = Options(modernize=True)
CONSTANTS = "<float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}, float e = {0.00001}, float two = {2}>"
LAYER = (
    f"g (float[B,S,8] x) => (float[B,S,8] y) {CONSTANTS} {{ m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Pow (d, two) "
    "v = ReduceMean <axes = [-1]> (q) w = Add (v, e) r = Sqrt (w) n = Div (d, r) y = Mul (n, s) }"
)
BIASED = LAYER.replace("y = Mul (n, s)", "t = Mul (s, n) y = Add (s, t)")
SQUARES = (
    f"g (float[B,S,8] x) => (float[B,S,8] y) {CONSTANTS} {{ q = Mul (x, x) v = ReduceMean <axes = [2]> (q) w = Add (e, v) "
    "r = Sqrt (w) i = Reciprocal (r) n = Mul (x, i) y = Mul (s, n) }"
)
OVER_ONE = SQUARES.replace("float e =", "float one = {1}, float e =").replace("Reciprocal (r)", "Div (one, r)")
SCALE = "<float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}>"
REWRITES = [
    (
        "normalizations.layer_normalization",
        LAYER,
        f"{SCALE} {{ y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, s) }}",
        17,
    ),
    (
        "normalizations.bias_of_layer_normalization",
        BIASED,
        f"{SCALE} {{ y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, s, s) }}",
        18,
    ),
    ("normalizations.rms_normalization", SQUARES, f"{SCALE} {{ y = RMSNormalization <axis = -1, epsilon = 0.00001> (x, s) }}", 23),
    ("normalizations.rms_normalization", OVER_ONE, f"{SCALE} {{ y = RMSNormalization <axis = -1, epsilon = 0.00001> (x, s) }}", 23),
]
X = np.random.default_rng(7).standard_normal((2, 3, 8)).astype(np.float32)


@pytest.mark.parametrize(("rule", "before", "after", "target"), REWRITES, ids=lambda value: str(value)[:40])
def test_rewrites(rule: str, before: str, after: str, target: int) -> None:
    result = assert_rewrites(before, after, rule, 13, target, MODERN)
    np.testing.assert_allclose(run(result, {"x": X})[0], run(model(before, 13), {"x": X})[0], rtol=2e-6, atol=2e-6)


OTHERS = {
    "nobody asked": (LAYER, 17, Options()),
    "the target lacks it": (LAYER, 16, MODERN),
    "the runtime refuses it": (LAYER, 17, Options(modernize=True, for_runtimes=["tensorrt-8.5"])),
    "the rule is left out": (LAYER, 17, Options(modernize=True, skip=["normalizations"])),
    "the mean of other axes": (LAYER.replace("m = ReduceMean <axes = [-1]>", "m = ReduceMean <axes = [1]>"), 17, MODERN),
    "the mean of inner axes": (LAYER.replace("[-1]", "[1]"), 17, MODERN),
    "the mean of something else": (
        LAYER.replace("(x) d", "(two) d").replace("<axes = [-1]> (two)", "<keepdims = 1> (two)"),
        17,
        MODERN,
    ),
    "a third power": (LAYER.replace("two = {2}", "two = {3}"), 17, MODERN),
    "a scale that repeats": (
        LAYER.replace("s = {1, 2, 3, 4, 5, 6, 7, 8}", "s = {1}").replace("float[8] s", "float[1] s"),
        17,
        MODERN,
    ),
    "the deviation is read": (LAYER.replace("=> (float[B,S,8] y)", "=> (float[B,S,8] y, float[B,S,1] r)"), 17, MODERN),
    "an epsilon of a rank too many": (
        LAYER.replace("float e = {0.00001}", "float[1,1,1,1] e = {0.00001}").replace("float[B,S,8] y", "float[A,B,S,8] y"),
        17,
        MODERN,
    ),
    "a quotient of two": (OVER_ONE.replace("one = {1}", "one = {2}"), 23, MODERN),
    "a quotient of a one of a rank too many": (
        OVER_ONE.replace("float one", "float[1,1,1,1] one").replace("float[B,S,8] y", "float[A,B,S,8] y"),
        23,
        MODERN,
    ),
    "doubles": (SQUARES.replace("float", "double"), 23, MODERN),
}


@pytest.mark.parametrize(("text", "target", "options"), OTHERS.values(), ids=OTHERS)
def test_what_is_something_else_stays(text: str, target: int, options: Options) -> None:
    require_opset(target)
    assert "Normalization" not in operators(convert_version(model(text, 13), target, options=options).model)


def test_what_is_computed_around_a_body_stays_there() -> None:
    """A name may stand for another value in the body."""
    text = (
        f"g (float[B,8] x, int64 n, float[B,8] z) => (float[B,8] y) {CONSTANTS[:-1]}, bool go = {{1}}> {{ m = ReduceMean <axes = [-1]> (x) "
        "d = Sub (x, m) q = Pow (d, two) v = ReduceMean <axes = [-1]> (q) w = Add (v, e) r = Sqrt (w) o = Div (d, r) "
        "y = Loop (n, go, z) <body = b (int64 i, bool c, float[B,8] x) => (bool co, float[B,8] u) { co = Identity (c) t = Mul (o, s) "
        "u = Add (x, t) }> }"
    )
    result = convert_version(model(text, 13), 17, options=MODERN).model
    assert "LayerNormalization" not in operators(result)
    (body,) = (attribute.g for node in result.graph.node if node.op_type == "Loop" for attribute in node.attribute)
    assert [node.op_type for node in body.node] == ["Identity", "Mul", "Add"]


@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [("float s, float b", ""), ("float[8] s, float[8] b", "<stash_type = 16>")],
    ids=["of unknown shape", "computed in another type"],
)
def test_the_bias_of_a_normalization_that_is_there_already(shapes: str, attributes: str) -> None:
    proto = model(
        f"g (float[B,8] x, {shapes}) => (float[B,8] y) {{ n = LayerNormalization {attributes} (x, s) y = Add (n, b) }}", 17
    )
    if not attributes:
        for value in list(proto.graph.input)[1:]:
            value.type.tensor_type.ClearField("shape")
    assert operators(convert_version(proto, 17, options=MODERN).model) == "LayerNormalization Add"


def test_a_bias_of_another_shape_stays_an_add() -> None:
    text = BIASED.replace("y = Add (s, t)", "y = Add (two, t)")
    assert operators(convert_version(model(text, 13), 17, options=MODERN).model) == "LayerNormalization Add"


@pytest.mark.parametrize(
    ("op_type", "opset"), [("LayerNormalization", 17), ("RMSNormalization", 23)], ids=["layer", "root mean square"]
)
@pytest.mark.parametrize("older", [11, 13])
def test_what_this_program_wrote_for_an_older_opset_comes_back(op_type: str, opset: int, older: int) -> None:
    require_opset(opset)
    text = f"g (float[B,S,8] x) => (float[B,S,8] y) {SCALE} {{ y = {op_type} <axis = -1, epsilon = 0.001> (x, s) }}"
    down = convert_version(model(text, opset), older).model
    back = convert_version(down, opset, options=MODERN).model
    assert operators(back) == op_type
    np.testing.assert_allclose(run(back, {"x": X})[0], run(down, {"x": X})[0], rtol=2e-6, atol=2e-6)


def test_halves_stay() -> None:
    """The operator would round less than the nodes do."""
    proto = model(LAYER, 13)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    assert "Normalization" not in operators(convert_version(proto, 17, options=MODERN).model)


def require_opset(opset: int) -> None:
    if opset not in known(opset):
        pytest.skip(f"onnx has no opset {opset}")


def operators(proto: ModelProto) -> str:
    return " ".join(node.op_type for node in proto.graph.node)
