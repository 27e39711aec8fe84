"""Operators replaced by ONNX's own function bodies: they compute the same, names stay unique, and nothing that is unread remains."""

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, known, model, refusal, run

from split_rewrite.rewriter.structure.survey import all_graphs

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "text, opset, target, reason",
    [
        pytest.param(
            "g (string[N] x, string[N] y) => (string[N] z) { z = StringConcat (x, y) }", 20, 19, "is new in opset 20", id="no body"
        ),
        pytest.param(
            "g (float16[N] x, float16[N] z) => (float16[N] y) { y = SwiGLU <alpha = 3e38> (x, z) }",
            *(28, 27, "alpha=3e+38 becomes inf in float16"),
            id="an attribute that overflows",
            marks=pytest.mark.skipif(not known(28), reason="onnx has no opset 28"),
        ),
        pytest.param(
            "g (float16[N] x, float16[N] z) => (float16[N] y) { y = SwiGLU <alpha = -1e-30> (x, z) }",
            *(28, 27, "alpha=-1e-30 becomes -0 in float16"),
            id="an attribute that underflows",
            marks=pytest.mark.skipif(not known(28), reason="onnx has no opset 28"),
        ),
    ],
)
def test_refused(text, opset, target, reason):
    assert reason in refusal(model(text, opset), target)


@pytest.mark.parametrize(
    "text, opset, target",
    [
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = HardSwish (x) }", 14, 7, id="HardSwish"),
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = Mish (x) }", 18, 7, id="Mish"),
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = Celu <alpha=0.7> (x) }", 12, 7, id="Celu, with its attribute"),
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = Celu (x) }", 12, 7, id="Celu, with the default"),
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = Gelu (x) }", 20, 9, id="Gelu"),
        pytest.param('g (float[2,6] x) => (float[2,6] y) { y = Gelu <approximate="tanh"> (x) }', 20, 7, id="Gelu by tanh"),
        pytest.param("g (float[2,6] x) => (float[2,6] y) { y = ThresholdedRelu <alpha=0.2> (x) }", 10, 7, id="ThresholdedRelu"),
        pytest.param(
            "g (float[2,6] x) => (float[2,6] y) { y = Shrink <lambd=0.3, bias=0.1> (x) }",
            9,
            7,
            id="Shrink: a body of a later opset",
        ),
    ],
)
def test_activations(text, opset, target):
    x = RNG.normal(0, 2, size=(2, 6)).astype(np.float32)
    assert_same(model(text, opset), target, {"x": x}, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("target", [11, 9, 7])
def test_loss(reduction, weighted, target):
    weight = ", float[5] w" if weighted else ""
    out = "[3,2]" if reduction == "none" else ""
    text = (
        f"g (float[3,5,2] x, int64[3,2] t{weight}) => (float{out} y) "
        f'{{ y = SoftmaxCrossEntropyLoss <reduction="{reduction}", ignore_index=2> (x, t{", w" if weighted else ""}) }}'
    )
    given = {"x": RNG.normal(size=(3, 5, 2)).astype(np.float32), "t": np.array([[0, 2], [4, 1], [2, 3]])}
    if weighted:
        given["w"] = RNG.random(5, np.float32)
    assert_same(model(text, 13), target, given, rtol=1e-5, atol=1e-6)


def test_absent_outputs_and_what_only_they_need_stay_out():
    text = "g (float[2,3,4] x, float[4] s) => (float[2,3,4] y) { y = RMSNormalization (x, s) }"
    if not known(23):
        pytest.skip("onnx has no opset 23")
    result = convert_version(model(text, 23), 13).model
    read = {name for node in result.graph.node for name in node.input} | {value.name for value in result.graph.output}
    assert all(set(node.output) & read for node in result.graph.node)
    x, s = RNG.normal(size=(2, 3, 4)).astype(np.float32), RNG.random(4, np.float32)
    expected = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5) * s
    np.testing.assert_allclose(run(result, {"x": x, "s": s})[0], expected, rtol=1e-6)


@pytest.mark.skipif(not known(23), reason="onnx has no opset 23")
@pytest.mark.parametrize("target", [18, 13, 11, 9, 7])
def test_attention(target):
    """Causal, grouped heads; expected from numpy."""
    text = (
        "g (float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v) => (float[2,4,3,6] y) { y = Attention <is_causal=1> (q, k, v) }"
    )
    q, k, v = (RNG.normal(size=shape).astype(np.float32) for shape in ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)))
    scores = q @ np.repeat(k, 2, 1).swapaxes(-1, -2) / np.sqrt(8)
    scores = np.where(np.arange(5) <= np.arange(3)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ np.repeat(v, 2, 1)
    result = convert_version(model(text, 23), target)
    np.testing.assert_allclose(run(result.model, {"q": q, "k": k, "v": v})[0], expected, rtol=2e-5, atol=2e-6)
    assert result.report.inexact


def test_names_are_unique_over_two_uses():
    text = "g (float[2] x) => (float[2] z) { y = Gelu (x)  z = Gelu (y) }"
    result = convert_version(model(text, 20), 13).model
    names = [name for graph in all_graphs(result) for node in graph.node for name in node.output]
    assert len(names) == len(set(names))


def test_inside_a_subgraph():
    text = """g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = HardSwish (x) }, else_branch = e () => (float[2] b) { b = Mish (x) }> }"""
    proto = model(text, 18)
    for condition in (True, False):
        assert_same(proto, 11, {"c": np.array(condition), "x": np.array([-1, 2], np.float32)}, rtol=2e-6)


def test_inside_a_function():
    text = """<ir_version: 8, opset_import: ["" : 14, "f" : 1]> g (float[2] x) => (float[2] y) { y = f.act (x) }
    <domain: "f", opset_import: ["" : 14]> act (a) => (b) { b = HardSwish (a) }"""
    assert_same(model(text), 13, {"x": np.array([-1, 2], np.float32)}, rtol=2e-6)


def test_comparisons_are_exact():
    proto = model("g (float[N] x, float[N] y) => (bool[N] z) { z = GreaterOrEqual (x, y) }", 12)
    assert not convert_version(proto, 11).report.inexact


def test_a_constant_result_becomes_a_constant():
    text = "g () => (int64[3] y) <int64 f = {0}, int64 t = {6}, int64 d = {2}> { y = Range (f, t, d) }"
    result = convert_version(model(text, 11), 7).model
    assert [node.op_type for node in result.graph.node if node.op_type != "Constant"] in ([], ["Cast"])
    np.testing.assert_array_equal(run(result, {})[0], [0, 2, 4])


def test_every_body_of_the_installed_onnx_is_of_the_default_domain():
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == "" and schema.has_function]
    for schema in schemas:
        for version in schema.function_opset_versions:
            body = onnx.FunctionProto.FromString(schema.get_function_with_opset_version(version))
            assert {entry.domain for entry in body.opset_import} <= {"", "ai.onnx"}, schema.name


@pytest.mark.skipif(not known(20), reason="onnx has no opset 20")
def test_texts_that_are_constant():
    text = 'g (int64[1] n) => (string[3] y) <string[1] a = {"ä"}, string[3] b = {"x", "", "ä"}> { y = StringConcat (a, b) }'
    result = convert_version(model(text, 20), 13).model
    np.testing.assert_array_equal(run(result, {"n": np.array([0])})[0], np.array(["äx", "ä", "ää"], object))


@pytest.mark.skipif(not known(26), reason="onnx has no opset 26")
@pytest.mark.parametrize("target", [25, 7])
def test_bits_that_are_constant(target):
    """NaN among them, which no older operator reads."""
    bits = np.array([0x7FC00001, 0xFFC00000, 0x80000000, 0x3F800000], np.uint32)
    proto = model("g (int64[1] n) => (uint32[4] y) { y = BitCast <to=12> (x) }", 26)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(bits.view(np.float32), "x"))
    np.testing.assert_array_equal(run(convert_version(proto, target).model, {"n": np.array([0])})[0], bits, strict=True)


IN_A_MAP = {
    "DFT along the last axis but one": """
        s = Constant<value = int64[2] {0, -1}>() a = Unsqueeze(t, s) f = DFT(a)
        h = Constant<value = int64 {0}>() r = Gather<axis = -1>(f, h) u = Squeeze(r, z)
    """,
    "Gelu": "u = Gelu(t)",
    "ReduceMax": "i = Constant<value = int64[1] {1}>() u = ReduceMax(t, i)",
    "Split in a branch": """
        u = If (c) <then_branch = b () => (float[E,F] p) { p, q = Split<num_outputs = 2, axis = 1>(t) },
                    else_branch = e () => (float[G,H] n) { n = Neg(t) }>
    """,
}


@pytest.mark.parametrize("target", [17, 16, 13])
@pytest.mark.parametrize("body", IN_A_MAP.values(), ids=IN_A_MAP)
def test_the_nodes_of_a_map_over_a_list_of_unknown_length_are_of_the_opset_of_the_model(body: str, target: int) -> None:
    """onnx puts them into its function body, which is of opset 17."""
    text = f"""g (seq(float[K,4]) x, bool c) => (seq(float[A,B]) y) <int64[1] z = {{0}}> {{
        y = SequenceMap <body = m (float[K,4] t) => (float[A,B] u) {{ {body} }}> (x)
    }}"""
    values = [np.arange(12, dtype=np.float32).reshape(3, 4) - 5, np.ones((1, 4), np.float32)]
    proto, inputs = model(text, 20), {"x": values, "c": np.array(True)}
    (expected,), (got,) = run(proto, inputs), run(convert_version(proto, target).model, inputs)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
