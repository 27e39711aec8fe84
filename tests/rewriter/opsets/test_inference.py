"""Shape inference of single nodes by onnx: what it must not be asked, and what it never answers."""

from __future__ import annotations

import pytest
from helpers import convert_version, model, run_isolated
from onnx import TensorProto, helper

from split_rewrite.rewriter import child_call
from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.opsets.inference import infer_node

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
