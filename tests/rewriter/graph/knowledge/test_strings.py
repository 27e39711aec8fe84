"""The element type of a value that nothing states follows from the nodes around it."""

from __future__ import annotations

import onnx
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton

OTHER = '<ir_version: 8, opset_import: ["" : 18, "other" : 1]>'


def scope_of(source: onnx.ModelProto) -> Scope:
    return Model(Skeleton.of(source), constants_as_initializers=True).main


def test_a_reader_that_wants_one_type_of_two_values_tells() -> None:
    source = model(f"{OTHER} g (float[2] x) => (float[2] y) {{ u = other.Thing (x) y = Add (u, x) }}")
    assert scope_of(source).type_string("u") == "tensor(float)"
    assert scope_of(source).elem_type("u") == onnx.TensorProto.FLOAT


def test_a_reader_in_a_subgraph_tells_there() -> None:
    source = model(
        OTHER
        + """g (float[2] x, bool c) => (float[2] y) {
            u = other.Thing (x)
            y = If (c) <then_branch = t () => (float[2] a) { a = Add (u, x) }, else_branch = e () => (float[2] b) { b = Relu (x) }>
        }"""
    )
    scope = scope_of(source)
    inner = next(scope.children(scope.graph.node[1], 1, 18))
    assert scope.type_string("u") is None
    assert inner.type_string("u") == "tensor(float)"


def test_a_sequence_has_no_element_type() -> None:
    scope = scope_of(model("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct (x) }"))
    assert scope.type_string("y") == "seq(tensor(float))" and scope.elem_type("y") is None
