"""Names of new nodes, and the constants that rules bring in."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, model
from onnx import TensorProto

from split_rewrite.rewriter import Options, UnconvertibleError
from split_rewrite.rewriter.graph import editing


def test_a_node_that_shares_its_name_gets_another():
    """Runtimes let a Constant share the name of another node, and nothing else."""
    proto = model(
        "g (float[2] x) => (int64[2] y, float[2] z) {"
        "[same] c = Constant<value = int64[2] {1, 2}>()\n [same] z = Relu(x)\n i = Cast<to = 7>(x)\n y = Add(i, c)}",
        opset=9,
    )
    result = assert_same(proto, 8, {"x": np.array([3, -4], np.float32)})
    names = [node.name for node in result.graph.node if node.name]
    assert len(set(names)) == len(names)
    assert {node.op_type: node.name for node in result.graph.node}["Relu"] == "same"


def test_a_new_node_is_not_named_like_one_that_is_there():
    """The Cast that makes 'y' would be called 'y', as the Relu is."""
    proto = model("g (float[2] x, float r) => (bool[2] y, float[2] z) {[y] z = Relu(x)\n d, y = Dropout(x, r)}", opset=12)
    names = [node.name for node in convert_version(proto, 9).model.graph.node if node.name]
    assert len(set(names)) == len(names)


def test_integers_that_rules_bring_in_below_ir_4():
    proto = model("g (float[2,3,4] a, float[2,1,4] b) => (float[2,3,4] y) { y = Add (a, b) }", 7, 3)
    from helpers import convert_version

    older = convert_version(proto, 6).model
    assert not older.graph.initializer
    constants = [node for node in older.graph.node if node.op_type == "Constant"]
    assert [node.attribute[0].t.data_type for node in constants] == [TensorProto.DOUBLE]
    onnx.checker.check_model(older, full_check=True)


def test_a_form_that_the_installed_onnx_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """GroupNorm of onnxruntime is written as GroupNormalization of opset 21."""
    proto = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18, "com.microsoft": 1]>
        g (float[1,2,2,4] x, float[4] s, float[4] b) => (float[1,2,2,4] y)
        { y = com.microsoft.GroupNorm <groups = 2, activation = 0, epsilon = 1e-5, channels_last = 1> (x, s, b) }"""
    )
    monkeypatch.setattr(editing, "newest_opset", lambda: 20)
    message = "its rewrite needs opset 21, which the installed onnx does not know"
    with pytest.raises(UnconvertibleError, match=message):
        convert_version(proto, 18, options=Options(standard=True))
