"""Shape inference of single nodes by onnx: what it must not be asked, and what it never answers."""

from __future__ import annotations

import onnx
import pytest
from helpers import convert_version, model, run_isolated
from onnx import TensorProto, helper

from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.opsets import inference
from split_rewrite.rewriter.opsets.inference import infer_node
from split_rewrite.rewriter.process import child_call
from split_rewrite.rewriter.storage.skeleton import Skeleton

LOOP = "l = Loop(n, , x) <body = b (int64 i, bool k, float[N] v) => (bool c, float[N] w) {c = Identity(k)\n w = Add(v, x)}>"


def test_a_loop_that_captures_is_not_inferred_alone() -> None:
    """onnx died of it."""
    loop = model(f"g (int64 n, float[N] x) => (float[N] l) {{{LOOP}}}", 11).graph.node[0]
    float_n = helper.make_tensor_type_proto(TensorProto.FLOAT, [3])
    types = {"n": helper.make_tensor_type_proto(TensorProto.INT64, []), "x": float_n}
    assert run_isolated(infer_node, loop, 11, types, {}, 8) == {}


def test_an_equation_that_onnx_never_finishes_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx 1.23 looks for the rest of the arrow for ever; 1.17 does not look."""
    monkeypatch.setattr(child_call, "_CPU_SECONDS", 2)
    source = model('g (float[2, 3] x) => (float[A, B] y) {y = Einsum<equation = "ij-">(x)}', 13)
    try:
        assert convert_version(source, 12).model.graph.node[0] == source.graph.node[0]
    except InvalidModelError as refusal:
        assert "time limit of 2 s" in str(refusal) or "insum" in str(refusal)


def test_a_node_of_another_domain_is_not_taken_for_the_operator_of_its_name() -> None:
    source = model(
        """<ir_version: 8, opset_import: ["" : 21, "local" : 1]> g (float[1,4] x, float[4] s) => (float[1,4] y, bool[4] z) {
            a = local.GroupNormalization (x, s, s)
            y = Relu (a)
            b = local.Less (x, s)
            z = Identity (b)
        }"""
    )
    scope = Model(Skeleton.of(source), constants_as_initializers=True).main
    assert (scope.type("a"), scope.shape("b")) == (None, None)
    assert scope.types.elem_type("a") == onnx.TensorProto.FLOAT, "Relu gives what it takes"
    assert scope.types.elem_type("b") == onnx.TensorProto.BOOL, "Identity gives what it takes"


def test_a_node_with_a_parameter_is_not_inferred() -> None:
    node = onnx.helper.make_node("Concat", ["v", "v"], ["c"])
    node.attribute.add(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="dim")
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2, 3])
    assert inference.infer_node(node, 13, {"v": kind}, {}, 8) == {}
