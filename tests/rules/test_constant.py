"""Constant: its other forms below opsets 12 and 11."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, model, refusal
from onnx import helper, numpy_helper


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
