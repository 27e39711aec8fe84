"""Operators of onnxruntime as operators of ONNX: against onnxruntime's own kernels."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import invalidity, known, model, run

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version
from split_rewrite.rules import microsoft

RULES = Options(
    rules=(
        microsoft.multiply_matrices,
        microsoft.gelu,
        microsoft.gelu_of_sum,
        microsoft.fast_gelu,
        microsoft.quick_gelu,
        microsoft.normalize_sum,
        microsoft.normalize_sum_by_squares,
        microsoft.normalize_by_squares,
        microsoft.rotate_positions,
    )
)
RANDOM = np.random.default_rng(5)


def of(inputs: dict[str, np.ndarray], node: str, outputs: str = "float[?] y", opset: int = 17) -> onnx.ModelProto:
    declared = ", ".join(
        f"{'float' if a.dtype == np.float32 else 'int64'}[{','.join(map(str, a.shape))}] {n}" for n, a in inputs.items()
    )
    return model(f"""<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>
        agraph ({declared}) => ({outputs}) {{ {node} }}""")


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def refused(node: str, inputs: dict[str, np.ndarray], outputs: str = "float[2,4] y") -> str:
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(of(inputs, node, outputs), 13, options=RULES)
    return str(caught.value)


# -- what is refused


def test_a_batch_that_moves():
    node = "y = com.microsoft.FusedMatMul <transBatchA = 1> (a, b)"
    assert "transBatchA or transBatchB moves the batch" in refused(
        node, {"a": normal(2, 2, 2), "b": normal(2, 2, 2)}, "float[2,2,2] y"
    )


def test_a_vector_that_would_be_transposed():
    node = "y = com.microsoft.FusedMatMul <transA = 1> (a, b)"
    assert "transA of FusedMatMul needs a matrix, and 'a' has rank 1" in refused(
        node, {"a": normal(2), "b": normal(2, 4)}, "float[4] y"
    )


def test_outputs_for_training():
    node = "y, m = com.microsoft.SkipLayerNormalization(x, s, g)"
    found = refused(node, {"x": normal(1, 2, 4), "s": normal(1, 2, 4), "g": normal(4)}, "float[1,2,4] y, float[1,2,1] m")
    assert "mean and deviation of a SkipLayerNormalization are for training" in found


def test_a_scaled_rotation():
    node = "y = com.microsoft.RotaryEmbedding <scale = 2.0> (x, p, c, s)"
    inputs = {"x": normal(1, 2, 3, 4), "p": np.arange(3)[None], "c": normal(8, 2), "s": normal(8, 2)}
    assert "RotaryEmbedding with scale or is_packed_batching has no form in ONNX" in refused(node, inputs, "float[1,2,3,4] y")


def test_positions_from_an_offset():
    node = "y = com.microsoft.RotaryEmbedding(x, p, c, s)"
    inputs = {"x": normal(1, 2, 3, 4), "p": np.array([1]), "c": normal(8, 2), "s": normal(8, 2)}
    assert "has one offset for all positions" in refused(node, inputs, "float[1,2,3,4] y")


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("y = com.microsoft.Gelu(x, x)", "Gelu of onnxruntime does not take these inputs"),
        ("y = com.microsoft.BiasGelu(x)", "BiasGelu of onnxruntime does not take these inputs"),
        ('y = com.microsoft.FusedMatMul <activation = "Relu"> (x, x)', "FusedMatMul of onnxruntime has no attribute activation"),
        ("y = com.microsoft.QuickGelu <alpha = 1> (x)", "QuickGelu of onnxruntime has no attribute alpha of this type"),
        ("y = com.microsoft.SimplifiedLayerNormalization <axis = 1.5> (x, x)", "has no attribute axis of this type"),
    ],
)
def test_what_onnxruntime_has_not(node, message):
    assert message in refused(node, {"x": normal(2, 4)})


@pytest.mark.parametrize("node", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_a_first_input_that_would_be_repeated(node):
    inputs = {"x": normal(1, 3, 8), "s": normal(2, 3, 8), "g": normal(8)}
    assert "does not broadcast its first input" in refused(f"y = com.microsoft.{node}(x, s, g)", inputs, "float[1,3,8] y")


@pytest.mark.parametrize("attributes", ["num_heads = 2, rotary_embedding_dim = 4", "interleaved = 2"])
def test_a_rotation_that_its_table_does_not_fit(attributes):
    inputs = {"x": normal(2, 2, 3, 8), "p": np.arange(3)[None].repeat(2, 0), "c": normal(16, 4), "s": normal(16, 4)}
    node = f"y = com.microsoft.RotaryEmbedding <{attributes}> (x, p, c, s)"
    assert "RotaryEmbedding rotates a part of each head" in refused(node, inputs, "float[2,2,3,8] y")


def test_without_the_rules_they_stay():
    proto = of({"x": normal(2, 4)}, "y = com.microsoft.Gelu(x)", "float[2,4] y")
    assert [node.op_type for node in convert_version(proto, 13).model.graph.node] == ["Gelu"]


# -- what is replaced

X = normal(2, 3, 4)
CASES = {
    "product": ({"a": normal(2, 3, 4), "b": normal(4, 5)}, "y = com.microsoft.FusedMatMul(a, b)", "float[2,3,5] y"),
    "scaled product": (
        {"a": normal(2, 4, 3), "b": normal(2, 5, 4)},
        "y = com.microsoft.FusedMatMul <alpha = 0.125, transA = 1, transB = 1> (a, b)",
        "float[2,3,5] y",
    ),
    "Gelu": ({"x": X}, "y = com.microsoft.Gelu(x)", "float[2,3,4] y"),
    "BiasGelu": ({"x": X, "b": normal(4)}, "y = com.microsoft.BiasGelu(x, b)", "float[2,3,4] y"),
    "FastGelu": ({"x": X}, "y = com.microsoft.FastGelu(x)", "float[2,3,4] y"),
    "FastGelu of a sum": ({"x": X, "b": normal(4)}, "y = com.microsoft.FastGelu(x, b)", "float[2,3,4] y"),
    "QuickGelu": ({"x": X}, "y = com.microsoft.QuickGelu <alpha = 1.5> (x)", "float[2,3,4] y"),
    "normalized sum": (
        {"x": X, "s": normal(2, 3, 4), "g": normal(4), "b": normal(4), "o": normal(4)},
        "y, m, d, z = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, s, g, b, o)",
        "float[2,3,4] y, float[2,3,4] z",
    ),
    "a chain": ({"x": X}, "a = com.microsoft.Gelu(x) b = com.microsoft.QuickGelu(a) y = Neg(b)", "float[2,3,4] y"),
}


@pytest.mark.parametrize(("inputs", "node", "outputs"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("target", [17, 13, 9])
def test_it_computes_the_same(inputs, node, outputs, target):
    proto = of(inputs, node, outputs)
    for maker in proto.graph.node:
        if len(maker.output) == 4:
            maker.output[1] = maker.output[2] = ""
    result = convert_version(proto, target, compare="required", options=RULES).model
    assert {node.domain for node in result.graph.node} == {""}
    for expected, got in zip(run(proto, inputs), run(result, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", known(23, 13, 9) if known(23) else ())
@pytest.mark.parametrize("bias", ["", ", b"])
def test_sum_normalized_by_squares(target, bias):
    inputs = {"x": X, "s": normal(2, 3, 4), "g": normal(4)} | ({"b": normal(4)} if bias else {})
    node = f"y, m, d, z = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.00001> (x, s, g{bias})"
    proto = of(inputs, node, "float[2,3,4] y, float[2,3,4] z")
    proto.graph.node[0].output[1] = proto.graph.node[0].output[2] = ""
    result = convert_version(proto, target, compare="required", options=RULES).model
    assert {node.domain for node in result.graph.node} == {""}
    for expected, got in zip(run(proto, inputs), run(result, inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


SIMPLIFIED = """<ir_version: 8, opset_import: ["" : 17]> agraph (float[2,3,4] x, float[4] g) => (float[2,3,4] y) {
    y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.001, stash_type = 1> (x, g) }"""


def test_what_onnx_has_not_is_refused_without_the_rules():
    assert "SimplifiedLayerNormalization" in invalidity(model(SIMPLIFIED), 13)


@pytest.mark.parametrize("target", known(23, 13, 9) if known(23) else ())
def test_an_operator_of_onnxruntime_in_the_domain_of_onnx(target):
    proto, inputs = model(SIMPLIFIED), {"x": X, "g": normal(4)}
    result, report = convert_version(proto, target, compare="required", options=RULES)
    assert {node.domain for node in result.graph.node} == {""}
    assert "SimplifiedLayerNormalization is an operator of onnxruntime and not of ONNX" in report.warnings[0]
    np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", known(23))
@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotation(target, interleaved):
    inputs = {"x": normal(2, 3, 8), "p": np.array([[0, 1, 2], [3, 1, 4]]), "c": normal(8, 2), "s": normal(8, 2)}
    node = f"y = com.microsoft.RotaryEmbedding <interleaved = {interleaved}> (x, p, c, s)"
    proto = of(inputs, node, "float[2,3,8] y", opset=21)
    for to in (target, 15):
        result = convert_version(proto, to, options=RULES).model
        np.testing.assert_allclose(run(result, inputs)[0], run(proto, inputs)[0], rtol=1e-5, atol=1e-6)
