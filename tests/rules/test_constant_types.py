"""Constants of integers and booleans below opset 9."""

import numpy as np
import onnx
import pytest
from helpers import assert_same, convert_version, model, refusal
from onnx import TensorProto, helper, numpy_helper


def constant(value):
    """A model whose output is one Constant of opset 9."""
    tensor = numpy_helper.from_array(np.asarray(value), "value")
    node = helper.make_node("Constant", [], ["y"], value=tensor)
    output = helper.make_tensor_value_info("y", tensor.data_type, tensor.dims)
    graph = helper.make_graph([node], "g", [], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


REFUSED = [
    pytest.param(np.array([2**53 + 1]), "beyond 2^53", id="a double does not hold it"),
    pytest.param(np.array(["text"], object), "type string does not exist before opset 9", id="a string is no number"),
]


@pytest.mark.parametrize("value, message", REFUSED)
def test_refuses(value, message):
    assert message in refusal(constant(value), 8)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "int32"])
def test_becomes_a_cast_of_doubles(dtype):
    result = assert_same(constant(np.array([[0, 1, 100]], dtype)), 8, {})
    assert [node.op_type for node in result.graph.node] == ["Constant", "Cast"]


def test_numbers_at_the_bound_of_double():
    assert_same(constant(np.array([2**53, -(2**53)])), 7, {})


def test_a_floating_constant_stays():
    proto = constant(np.float32(1.5))
    assert assert_same(proto, 7, {}).graph.node == proto.graph.node


def test_integers_that_rules_bring_in_below_ir_4():
    proto = model("g (float[2,3,4] a, float[2,1,4] b) => (float[2,3,4] y) { y = Add (a, b) }", 7, 3)
    from helpers import convert_version

    older = convert_version(proto, 6).model
    assert not older.graph.initializer
    constants = [node for node in older.graph.node if node.op_type == "Constant"]
    assert [node.attribute[0].t.data_type for node in constants] == [TensorProto.DOUBLE]
    onnx.checker.check_model(older, full_check=True)


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
