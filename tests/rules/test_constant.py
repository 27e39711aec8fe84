"""Constant: its other forms below opsets 12 and 11."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import assert_compares_equal, assert_rewrites, assert_same, convert_version, model, refusal
from onnx import helper, numpy_helper

pytestmark = pytest.mark.quick

REFUSED = [
    pytest.param(np.array([2**53 + 1]), "beyond 2^53", id="a double does not hold it"),
    pytest.param(np.array(["text"], object), "type string does not exist before opset 9", id="a string is no number"),
]


def _sparse(indices: np.ndarray, dims: list[int]) -> onnx.ModelProto:
    values = numpy_helper.from_array(np.array([1.5, -2.0], np.float32))
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(indices), dims)
    proto = model(f"g () => (float{dims} y) {{ y = Constant <value = float {{1}}> () }}", opset=13)
    del proto.graph.node[0].attribute[:]
    proto.graph.node[0].attribute.append(helper.make_attribute("sparse_value", sparse))
    return proto


def test_a_large_sparse_constant_is_refused() -> None:
    proto = _sparse(np.array([1, 5]), [1 << 20, 1 << 10])
    assert "too large to be written out" in refusal(proto, 10)


@pytest.mark.parametrize(
    ("form", "kind", "expected"),
    [
        ("value_int = 7", "int64", np.array(7)),
        ("value_ints = [1, -2]", "int64[2]", np.array([1, -2])),
        ("value_float = 0.1", "float", np.array(0.1, np.float32)),
        ("value_floats = [0.1, 2.0]", "float[2]", np.array([0.1, 2], np.float32)),
        ('value_strings = ["a", "ü"]', "string[2]", np.array(["a", "ü"], object)),
    ],
)
@pytest.mark.parametrize("target", [11, 9])
def test_plain_forms(form: str, kind: str, expected: np.ndarray, target: int) -> None:
    (node,) = convert_version(model(f"g () => ({kind} y) {{ y = Constant <{form}> () }}", opset=13), target).model.graph.node
    (attribute,) = node.attribute
    assert attribute.name == "value"
    value = numpy_helper.to_array(attribute.t)
    np.testing.assert_array_equal(value, expected)
    assert value.shape == expected.shape


@pytest.mark.parametrize("indices", [np.array([1, 5]), np.array([[0, 1], [1, 2]])], ids=["flat", "coordinates"])
def test_sparse_values_are_written_out(indices: np.ndarray) -> None:
    (node,) = convert_version(_sparse(indices, [2, 3]), 10).model.graph.node
    np.testing.assert_array_equal(numpy_helper.to_array(node.attribute[0].t), np.array([[0, 1.5, 0], [0, 0, -2]], np.float32))


def test_a_sparse_constant_stays_sparse_at_11() -> None:
    proto = _sparse(np.array([1, 5]), [2, 3])
    assert convert_version(proto, 11).model.graph.node[0] == proto.graph.node[0]


def of_opset_9(value):
    """A model whose output is one Constant of opset 9."""
    tensor = numpy_helper.from_array(np.asarray(value), "value")
    node = helper.make_node("Constant", [], ["y"], value=tensor)
    output = helper.make_tensor_value_info("y", tensor.data_type, tensor.dims)
    graph = helper.make_graph([node], "g", [], [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4)


@pytest.mark.parametrize("value, message", REFUSED)
def test_refuses_below_9(value, message):
    assert message in refusal(of_opset_9(value), 8)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "int32"])
def test_becomes_a_cast_of_doubles(dtype):
    result = assert_same(of_opset_9(np.array([[0, 1, 100]], dtype)), 8, {})
    assert [node.op_type for node in result.graph.node] == ["Constant", "Cast"]


def test_numbers_at_the_bound_of_double():
    assert_same(of_opset_9(np.array([2**53, -(2**53)])), 7, {})


def test_a_floating_constant_stays():
    proto = of_opset_9(np.float32(1.5))
    assert assert_same(proto, 7, {}).graph.node == proto.graph.node


def test_a_boolean_folded_in_a_branch_below_6() -> None:
    text = (
        "g (bool c) => (bool[2] y) {y = If(c) <then_branch = t () => (bool[2] p) <bool a = {0}, int64[1] n = {2}> {p = Expand(a, n)}, "
        "else_branch = e () => (bool[2] q) <bool[2] b = {1, 0}> {q = Identity(b)}>}"
    )
    assert_compares_equal(model(text, 8), 5)


REWRITES = [
    (
        "constant.dense_value",
        13,
        10,
        _sparse(np.array([1, 5]), [2, 3]),
        "{ y = Constant <value = float[2,3] {0, 1.5, 0, 0, 0, -2}> () }",
    ),
    (
        "constant.cast_from_double",
        9,
        8,
        "g () => (int64[2] y) { y = Constant <value = int64[2] {1, 2}> () }",
        "{ v1 = Constant <value = double[2] {1, 2}> () y = Cast <to = 7> (v1) }",
    ),
    (
        "constant.plain_value",
        12,
        11,
        "g () => (int64[2] y) { y = Constant <value_ints = [1, 2]> () }",
        "{ y = Constant <value = int64[2] {1, 2}> () }",
    ),
]


@pytest.mark.parametrize(("rule", "opset", "target", "before", "after"), REWRITES, ids=[row[0] for row in REWRITES])
def test_rewrites(rule: str, opset: int, target: int, before: str | onnx.ModelProto, after: str) -> None:
    assert_rewrites(before, after, rule, opset, target)
