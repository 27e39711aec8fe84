"""All nodes of a model, those of subgraphs and functions too."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.onnx_model.all_nodes import constants, nodes_with_opset

SOURCE = """<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
g (bool c, float x) => (float y) <float k = {1}> {
    y = If (c) <then_branch = t () => (float a) { k2 = Constant <value = float {2}> ()\n a = f.twice (k2) },
                else_branch = e () => (float b) { b = Add (x, k) }>
}
<domain: "f", opset_import: ["" : 13]> twice (v) => (w) { w = Add (v, v) }"""


def test_each_node_comes_with_the_opset_of_its_form() -> None:
    found = [(node.op_type, opset) for node, opset in nodes_with_opset(model(SOURCE))]
    assert found == [("If", 17), ("Constant", 17), ("twice", 17), ("Add", 17), ("Add", 13)]


def test_a_name_is_constant_only_if_it_is_so_wherever_it_is_used() -> None:
    assert constants(model(SOURCE)).keys() == {"k", "k2"}
    assert constants(model(SOURCE.replace("w = Add (v, v)", "k = Add (v, v)\n w = Neg (k)"))).keys() == {"k2"}


def test_a_constant_of_another_domain_is_an_operator_like_others() -> None:
    proto = model("g (float[2] x) => (float[2] y) { c = own.Constant (x) y = Add (x, c) }", 13)
    proto.graph.node.add(op_type="Constant", domain="own", input=["x"])
    assert constants(proto) == {}
