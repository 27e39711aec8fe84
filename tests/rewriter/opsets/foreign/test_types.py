"""Types of what one node of onnxruntime makes: the element type from the schema, the shape from a function that its facts name."""

from __future__ import annotations

import onnx.parser
import pytest
from helpers import one_node

from split_rewrite.rewriter.opsets import facts, type_protos
from split_rewrite.rewriter.opsets.foreign import schemas, types

pytestmark = pytest.mark.quick


def inferred(text: str, **operands: str) -> dict[str, str]:
    """The types of what the node of `text` makes of inputs of these types, in the notation of onnx.parser."""
    graph = onnx.parser.parse_graph(f"g ({', '.join(f'{kind} {name}' for name, kind in operands.items())}) => () {{}}")
    known = {value.name: value.type for value in graph.input}
    found = types.infer(one_node(text), known, {})
    return {name: _shown(kind) for name, kind in found.items()}


def _shown(kind: onnx.TypeProto) -> str:
    shape = type_protos.shape_of(kind)
    dims = "" if shape is None else f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"
    return type_protos.elem_type_name(kind.tensor_type.elem_type) + dims


def test_nothing_is_known_of_an_unknown_input():
    assert inferred("y = com.microsoft.Gelu (x)") == {}
    assert inferred("y = com.microsoft.Gelu (x)", x="float[]") == {"y": "float"}


def test_an_operator_without_a_shape_has_an_element_type():
    assert facts.of("IsAllFinite", "com.microsoft").word("shapes") == ""
    assert inferred("y = com.microsoft.IsAllFinite (x)", x="float[8]") == {"y": "bool"}


def test_the_type_of_an_output_that_another_input_tells():
    found = inferred('y, "", "", z = com.microsoft.SkipLayerNormalization (x, s, g)', g="float16[4]")
    assert found == {"y": "float16", "z": "float16"}


def test_what_a_caller_decides_is_unknown():
    node = one_node("y = com.microsoft.FusedMatMul <transA = 1> (x, x)")
    node.attribute[0].ref_attr_name = "flag"
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2, 2])
    assert _shown(types.infer(node, {"x": kind}, {})["y"]) == "float"


def test_a_node_that_is_not_valid_has_no_shape():
    assert inferred("y = com.microsoft.SkipLayerNormalization (x, x, x)", x="float") == {"y": "float[]"}
    assert inferred('y = com.microsoft.FusedMatMul <transA = "yes"> (x, x)', x="float[]") == {"y": "float"}


def test_each_function_that_a_row_names_is_there():
    for name in schemas.known_operators():
        word = facts._fact(name).word("shapes")
        assert not word or callable(types._function(word))
    assert {name for name in facts.known_operators() if name.startswith("com.microsoft::")} <= schemas.known_operators()
