"""Shapes of embedded words."""

from __future__ import annotations

import pytest
from onnx import helper

from split_rewrite.rewriter.opsets.foreign.types import infer

pytestmark = pytest.mark.quick


def test_normalized():
    node = helper.make_node(
        "EmbedLayerNormalization", ["w", "", "t", "p", "", "g", "b"], ["y", "n", "z"], domain="com.microsoft", epsilon=1e-5
    )
    types = {"w": helper.make_tensor_type_proto(6, ["b", 3])}
    types |= {
        name: helper.make_tensor_type_proto(1, shape) for name, shape in (("t", [9, 8]), ("p", [5, 8]), ("g", [8]), ("b", [8]))
    }
    found = infer(node, types, {})
    assert found["y"] == found["z"] == helper.make_tensor_type_proto(1, ["b", 3, 8])
    assert found["n"] == helper.make_tensor_type_proto(6, ["b"])
