"""Folding of constants: nothing large is made, and nothing is mistaken for its bits."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from split_rewrite.rewriter.opsets.folding import evaluate


@pytest.mark.parametrize("operator", ["Add", "Mul", "Min"])
def test_folding_makes_nothing_large(operator: str) -> None:
    wide, high = np.ones((1, 65_536), np.int64), np.ones((65_536, 1), np.int64)
    assert evaluate(helper.make_node(operator, ["a", "b"], ["c"]), [wide, high]) is None


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceProd"])
def test_the_order_of_a_sum_of_floats_is_left_to_the_runtime(operator: str) -> None:
    node = helper.make_node(operator, ["a"], ["b"], keepdims=0)
    assert evaluate(node, [np.array([0.1, 0.2, 0.3], np.float32)]) is None
    expected = {"ReduceSum": 5, "ReduceProd": 6}[operator]
    assert evaluate(node, [np.array([2, 3], np.float32)]) == [expected]
    assert evaluate(node, [np.array([1, 2, 3])]) == [6]


def test_folding_gathers_nothing_large() -> None:
    node = helper.make_node("Gather", ["a", "b"], ["c"])
    assert evaluate(node, [np.ones((1, 65_536), np.int64), np.zeros(65_536, np.int64)]) is None


def test_folding_takes_no_bits_for_numbers() -> None:
    """onnx 1.17 reads them as 16128."""
    value = helper.make_tensor("v", TensorProto.BFLOAT16, [1], [0.5])
    found = evaluate(helper.make_node("ConstantOfShape", ["a"], ["b"], value=value), [np.array([2])])
    assert found is None or found[0].astype(np.float64).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "given, target", [([-1], "UINT8"), ([256], "UINT8"), ([-129], "INT8"), ([2**32], "UINT32"), ([-1], "UINT64")]
)
def test_casts_beyond_a_narrow_type_are_left_to_the_runtime(given: list[int], target: str) -> None:
    cast = helper.make_node("Cast", ["a"], ["b"], to=TensorProto.DataType.Value(target))
    assert evaluate(cast, [np.array(given)]) is None


@pytest.mark.parametrize("given", [[0, 255], [-0.5, 254.9]])
def test_casts_to_a_narrow_type(given: list[float]) -> None:
    (found,) = evaluate(helper.make_node("Cast", ["a"], ["b"], to=TensorProto.UINT8), [np.array(given)]) or [None]
    assert found is not None and found.dtype == np.uint8
    np.testing.assert_array_equal(found, [0, int(given[1])])


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles_are_folded_but_for_diagonals_far_away(upper: int) -> None:
    node, data = helper.make_node("Trilu", ["a", "k"], ["b"], upper=upper), np.full((3, 3), -np.inf, np.float32)
    (found,) = evaluate(node, [data, np.array(1)]) or [None]
    rows, columns = np.indices((3, 3))
    np.testing.assert_array_equal(found, np.where(columns - rows >= 1 if upper else columns - rows <= 1, data, np.float32(0)))
    assert evaluate(node, [data, np.array(2**62)]) is None
