"""Which models only carry elements from place to place, so that a few runs prove everything."""

from __future__ import annotations

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.comparison.inputs.carried import carries_only

MORE = {
    "arithmetic": "g (float[2,3] x) => (float[2,3] y) { h = Relu (x)  y = Transpose <perm = [0, 1]> (h) }",
    "a cast": "g (float[4] x) => (int64[4] y) { y = Cast <to = 7> (x) }",
    "sizes that come as an input": "g (float[4] x, int64[2] s) => (float[A,B] y) { y = Reshape (x, s) }",
    "indices made of elements": "g (int64[4] x) => (int64[4] y) { y = Gather (x, x) }",
    "elements that choose": "g (float[4] x, float[4] z, bool[4] c) => (float[4] y) { y = Where (c, x, z) }",
    "elements that are added up": """g (float[4] x, float[1,4] u) => (float[4] y) <int64[1,1] i = {0}>
        { y = ScatterND <reduction = "add"> (x, i, u) }""",
    "a subgraph": """g (float[4] x, bool c) => (float[4] y)
        { y = If (c) <then_branch = t () => (float[4] a) { a = Identity (x) }, else_branch = e () => (float[4] b) { b = Identity (x) }> }""",
    "random numbers": "g (float[4] x) => (float[4] y) { y = RandomNormalLike (x) }",
    "a constant that callers may replace": """g (float[4] x, int64[1] i = {2}) => (float[1] y) { y = Gather (x, i) }""",
    "another domain's operator": '<ir_version: 8, opset_import: ["" : 18, "other" : 1]> g (float[4] x) => (float[4] y) { y = other.Move (x) }',
}


@pytest.mark.parametrize("case", MORE)
def test_more_is_done_with_elements(case: str) -> None:
    assert not carries_only(model(MORE[case]))


def test_nodes_out_of_order_are_not_judged() -> None:
    """onnxruntime sorts them; a value is read here before it is known whether elements reach it."""
    proto = model("g (float[4] x) => (float[4] y) { h = Identity (x)  y = Relu (h) }")
    first = onnx.NodeProto.FromString(proto.graph.node[0].SerializeToString())
    del proto.graph.node[0]
    proto.graph.node.append(first)
    assert not carries_only(proto)


@pytest.mark.parametrize(("domain", "name"), [("com.microsoft", "ExpandDims"), ("ai.onnx", "Identity"), ("", "Flatten")])
def test_a_function_with_the_name_of_an_operator(domain: str, name: str) -> None:
    proto = model("g (float[4] x) => (float[4] y) { y = Identity (x) }")
    proto.graph.node[0].op_type, proto.graph.node[0].domain = name, domain
    body = onnx.helper.make_node("Abs", ["x"], ["y"])
    imports = [onnx.helper.make_opsetid("", 18)]
    proto.functions.append(onnx.helper.make_function(domain, name, ["x"], ["y"], [body], imports))
    assert not carries_only(proto)


def test_a_sparse_constant_that_callers_may_replace() -> None:
    proto = model("g (float[2] x, float[3] c) => (float[5] y) { y = Concat <axis = 0> (x, c) }")
    values, indices = onnx.helper.make_tensor("c", 1, [1], [5.0]), onnx.helper.make_tensor("i", 7, [1], [2])
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(values, indices, [3]))
    assert not carries_only(proto)


CARRY = {
    "split": "g (float[N,6] x) => (float[N,2] y, float[N,4] z) { s = Constant <value_ints = [2, 4]> ()  y, z = Split <axis = 1> (x, s) }",
    "computed from shapes": """g (float[N,6] x) => (float[A,B] y)
        { s = Shape (x)  i = Constant <value_ints = [1, 0]> ()  r = Gather (s, i)  y = Reshape (x, r) }""",
    "padding and gathering": """g (float[2,3] x) => (float[4,5] y) <int64[4] p = {1, 1, 1, 1}, int64[4] i = {3, 0, 0, 1}>
        { h = Pad (x, p)  y = Gather (h, i) }""",
    "a sequence": """g (int32[6] x) => (int32[2] y) <int64[3] s = {2, 2, 2}, int64 p = {1}>
        { q = SplitToSequence (x, s)  y = SequenceAt (q, p) }""",
    "lengths of a sequence": "g (int32[6] x) => (int64 y) { q = SequenceConstruct (x, x)  y = SequenceLength (q) }",
    "a fixed choice": "g (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {1, 0}> { y = Where (c, x, z) }",
}


@pytest.mark.parametrize("case", CARRY)
def test_elements_are_carried_to_places_that_the_shapes_decide(case: str) -> None:
    assert carries_only(model(CARRY[case]))
