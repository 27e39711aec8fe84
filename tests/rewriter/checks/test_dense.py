"""Sparse initializers, which runtimes read as dense tensors."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from helpers import convert_version, invalidity, model, run
from onnx import helper, numpy_helper

TEXT = "g (float[2,3] x) => (float[2,3] y) { t = Add (x, w) y = Softmax <axis = 1> (t) }"


def with_sparse(dims: list[int], places: list[int] | list[list[int]]) -> onnx.ModelProto:
    proto = model(TEXT, 11)
    values = numpy_helper.from_array(np.array([1.5, -2], np.float32), "w")
    indices = numpy_helper.from_array(np.array(places, np.int64), "places")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, dims))
    return proto


def test_a_large_one_is_refused() -> None:
    assert "sparse" in invalidity(with_sparse([1 << 20, 1 << 20], [1, 5]), 13)


@pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]])
@pytest.mark.parametrize("target", [9, 13, 18])
def test_it_is_dense_then(places: list[int], target: int) -> None:
    proto = with_sparse([2, 3], places)
    result, report = convert_version(proto, target, compare="required")
    (weight,) = result.graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), np.array([[0, 1.5, 0], [0, 0, -2]], np.float32))
    assert "it is sparse, and the nodes that read it take dense tensors: it is dense now" in report.warnings[0]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run(result, {"x": x})[0], run(proto, {"x": x})[0], rtol=1e-6)
