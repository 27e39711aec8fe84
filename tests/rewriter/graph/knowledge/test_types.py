"""The sources of types: what each adds to what is stated, and what an edit by a rule changes."""

from __future__ import annotations

import onnx
from helpers import model
from onnx import helper

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton


def scope_of(text: str, opset: int = 18) -> Scope:
    return Model(Skeleton.of(model(text, opset)), constants_as_initializers=True).main


def test_all_outputs_of_a_node_are_found_at_once() -> None:
    scope = scope_of("""g (float[6,6] x) => (float[A,B] y) {
        one = Constant <value_ints = [1]> ()
        two = Constant <value_ints = [2]> ()
        m = Max (one, two)
        sizes = Concat <axis = 0> (m, m, m)
        y, z, w = Split <axis = 0> (x, sizes)
        v = Add (z, w)
    }""")
    assert scope.shape("y") == (2, 6)
    assert scope.records["z"].type.shape == scope.records["w"].type.shape == (2, 6)  # type: ignore[union-attr]
    assert scope.shape("v") == (2, 6)


def test_a_node_that_a_rule_writes_in_place_of_another_tells_more() -> None:
    scope = scope_of("""g (float[N,6] x, int64[K] s) => (float[A,B] y) {
        h = Reshape (x, s)
        k = Relu (h)
        y = Neg (k)
    }""")
    assert scope.shape("k") is None
    scope.register(helper.make_node("Transpose", ["x"], ["h"]), 18)
    assert scope.shape("h") == (6, "N") == scope.shape("k")


def test_what_reads_another_value_now_is_known_as_that_one_is() -> None:
    scope = scope_of("g (float[N,6] x, int64[K] s) => (float[A,B] y) { h = Reshape (x, s)\n k = Relu (h)\n y = Neg (k) }")
    assert scope.shape("k") is None
    scope.alias("h", "x")
    assert scope.shape("h") == ("N", 6) == scope.shape("k")


def test_a_value_that_becomes_constant_makes_others_constant() -> None:
    scope = scope_of("g (int64[2] x) => (int64[2] y) { c = Abs (x)\n d = Add (c, c)\n y = Neg (d) }")
    assert scope.constant("y") is None
    constant = scope.producers["c"]
    constant.CopyFrom(helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", onnx.TensorProto.INT64, [2], [1, 2])))
    scope.register(constant, 18)
    value = scope.constant("y")
    assert value is not None and value.tolist() == [-2, -4]


def test_what_a_rule_states_counts_more_than_inference() -> None:
    scope = scope_of("g (float[N,6] x) => (float[N,6] y) { y = Relu (x) }")
    scope.register(helper.make_node("Thing", ["x"], ["made"], domain="other"), 18)
    assert scope.type("made") is None
    scope.types.note("made", helper.make_tensor_type_proto(1, [2, 3]))
    assert scope.shape("made") == (2, 3) and scope.elem_type("made") == onnx.TensorProto.FLOAT
