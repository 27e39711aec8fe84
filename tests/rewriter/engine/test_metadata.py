"""Nodes that replace one keep what says where it came from, so that a profiler still finds the layer; untouched nodes keep all."""

from __future__ import annotations

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter import convert_file, convert_version

LAYER = {"layer": "encoder/norm", "pkg.torch.onnx.stack_trace": "model.py:7"}
NORMED = """agraph (float[2,4] x) => (float[2,4] y)
<float[4] scale = {1.0, 2.0, 3.0, 4.0}>
{ h = Relu(x) n = LayerNormalization(h, scale) y = Neg(n) }"""


def marked(proto: onnx.ModelProto, op_type: str) -> onnx.ModelProto:
    """`proto` with LAYER as the metadata of its nodes of `op_type`."""
    for node in proto.graph.node:
        if node.op_type == op_type:
            onnx.helper.set_model_props(node, LAYER)  # type: ignore[arg-type]
    return proto


def metadata(node: onnx.NodeProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in node.metadata_props}


def test_nodes_of_others_get_none():
    result = convert_version(marked(model(NORMED), "Relu"), 13).model
    assert [metadata(node) for node in result.graph.node if node.op_type != "Relu"] == [{}] * (len(result.graph.node) - 1)


def test_untouched_nodes_keep_their_bytes():
    before = marked(model(NORMED), "Neg")
    result = convert_version(before, 13).model
    assert result.graph.node[-1].SerializeToString() == before.graph.node[-1].SerializeToString()


def test_all_nodes_of_an_expansion_say_where_they_come_from():
    result = convert_version(marked(model(NORMED), "LayerNormalization"), 13).model
    assert len(result.graph.node) == 11
    assert [metadata(node) for node in result.graph.node] == [{}, *[LAYER] * (len(result.graph.node) - 2), {}]


def test_the_last_node_of_an_expansion_has_its_documentation():
    before = model(NORMED)
    before.graph.node[1].doc_string = "model.py:7"
    result = convert_version(before, 13).model
    assert [node.doc_string for node in result.graph.node] == [""] * (len(result.graph.node) - 2) + ["model.py:7", ""]


def test_a_node_that_only_changes_keeps_its_documentation():
    before = model("agraph (float[2,4] x) => (float[2,2] y, float[2,2] z) { y, z = Split <axis = 1> (x) }", opset=13)
    before.graph.node[0].doc_string = "model.py:7"
    (node,) = convert_version(before, 18).model.graph.node
    assert (node.op_type, node.doc_string) == ("Split", "model.py:7")


def test_files_too(tmp_path):
    onnx.save(marked(model(NORMED), "LayerNormalization"), tmp_path / "m.onnx")
    convert_file(tmp_path / "m.onnx", tmp_path / "o.onnx", 13)
    assert [metadata(node) for node in onnx.load(tmp_path / "o.onnx").graph.node[1:-1]].count(LAYER) == 9


@pytest.mark.parametrize("target", [18, 12])
def test_a_node_that_changes_in_place_keeps_its_own(target):
    proto = model("agraph (float[2,4] x) => (float[2,2] y, float[2,2] z) { y, z = Split <axis = 1> (x) }", opset=13)
    result = convert_version(marked(proto, "Split"), target).model
    assert [metadata(node) for node in result.graph.node if node.op_type == "Split"] == [LAYER]


def test_nodes_in_the_subgraphs_of_an_expansion_say_it_too():
    text = "agraph (seq(float[2]) x) => (seq(float[2]) y) { y = SequenceMap <body = b (float[2] v) => (float[2] w) { w = Neg(v) }> (x) }"
    result = convert_version(marked(model(text, opset=17), "SequenceMap"), 16).model
    loop = next(node for node in result.graph.node if node.op_type == "Loop")
    inner = loop.attribute[0].g.node
    assert len(inner) > 2
    assert [metadata(node) for node in (loop, *inner)] == [LAYER] * (1 + len(inner))
