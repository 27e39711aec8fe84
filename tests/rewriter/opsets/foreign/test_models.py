"""Operators of onnxruntime do not make the rest of a model unknown."""

from __future__ import annotations

from helpers import model, refusal

from split_rewrite.rewriter import convert_version
from split_rewrite.rewriter.opsets import inference
from split_rewrite.rewriter.opsets.type_protos import shape_of

HEAD = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
DEEP = (
    HEAD
    + """ g (float[N,4] x, float[4] b) => (float[K] y) {
    a = com.microsoft.BiasGelu (x, b)
    t = Transpose (a)
    p = com.microsoft.FusedMatMul <transA = 1> (t, t)
    r = Relu (p)
    q = com.microsoft.Gelu (r)
    y = ReduceSum <keepdims = 0> (q)
}"""
)


def shapes(text: str) -> dict[str, tuple[object, ...] | None]:
    inferred = inference.infer_model(model(text))
    assert inferred is not None
    return {value.name: shape_of(value.type) for value in inferred.graph.value_info}


def test_types_flow_through_operators_of_onnxruntime():
    assert shapes(DEEP) == {"a": ("N", 4), "t": (4, "N"), "p": ("N", "N"), "r": ("N", "N"), "q": ("N", "N")}


def test_what_is_in_a_branch_is_known_too():
    text = (
        HEAD
        + """ g (bool c, float[2,4] x) => (float[N,4] y) {
        y = If (c) <then_branch = t () => (float[M,4] a) { a = com.microsoft.Gelu (x) },
                    else_branch = e () => (float[L,4] b) { h = com.microsoft.QuickGelu (x) b = Neg (h) }> }"""
    )
    inferred = inference.infer_model(model(text))
    assert inferred is not None
    branches = {attribute.name: attribute.g for attribute in inferred.graph.node[0].attribute}
    assert shape_of(branches["else_branch"].value_info[0].type) == (2, 4)
    assert shape_of(branches["then_branch"].output[0].type) == (2, 4)


def test_a_declared_shape_stays():
    text = HEAD + """ g (float[N,4] x) => (float[N,4] y) <float[2,4] h> { h = com.microsoft.Gelu (x) y = Relu (h) }"""
    assert shapes(text)["h"] == (2, 4)


PAD = (
    HEAD.replace("17", "18")
    + """ g (float[2,9] x) => (float[2,4] y) {{
    h = com.microsoft.{operator} (x)
    r = Neg (h)
    s = Constant <value_ints = [4]> ()
    y = CenterCropPad <axes = [1]> (r, s) }}"""
)


def test_behind_an_operator_that_nobody_knows_the_type_is_unknown():
    assert "the type of 'r' is unknown" in refusal(model(PAD.format(operator="Unheard")), 13)


def test_behind_one_of_onnxruntime_it_is_known():
    proto = convert_version(model(PAD.format(operator="Gelu")), 13, compare="required").model
    assert [node.op_type for node in proto.graph.node][:2] == ["Gelu", "Neg"]
