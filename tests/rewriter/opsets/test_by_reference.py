"""Integers that the reference implementation computes: what is left alone first, then the answers of ONNX's own node tests."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from split_rewrite.rewriter.opsets import by_reference

MOST = 1000
ONE, MANY = np.array([1, 2, 3], np.int64), np.full(3, 1000, np.int64)


def evaluate(op_type: str, *inputs: np.ndarray, **attributes: Any) -> list[np.ndarray] | None:
    names = [f"x{index}" for index in range(len(inputs))]
    return by_reference.evaluate(helper.make_node(op_type, names, ["y"], **attributes), 18, inputs, MOST)


def roughly(op_type: str, *inputs: np.ndarray) -> list[np.ndarray] | None:
    names = [f"x{index}" for index in range(len(inputs))]
    return by_reference.evaluate_roughly(helper.make_node(op_type, names, ["y"]), 13, inputs, MOST)


def test_infinities_are_moved_and_cast() -> None:
    """As in the buckets of T5, the logarithm of 0 becomes an integer that nothing reads."""
    (y,) = roughly("Log", np.zeros(1, np.float32)) or []
    assert y == -np.inf
    assert roughly("Concat", y) is None  # it lacks the axis
    (z,) = (
        by_reference.evaluate_roughly(helper.make_node("Cast", ["x"], ["y"], to=1), 13, [np.array([np.inf], np.float16)], MOST)
        or []
    )
    assert z == np.inf


def test_what_is_left_alone() -> None:
    assert evaluate("Tile", ONE, np.array([1000])) is None  # too large to be made
    assert evaluate("Log", ONE.astype(np.float32)) is None  # rounded
    assert evaluate("Max", np.array([np.nan], np.float32), np.array([1], np.float32)) is None
    assert evaluate("ReduceProd", np.array([-177192, -420920, -822636, -420920])) is None  # beyond int64
    assert roughly("Resize", np.array([[1, np.inf]], np.float32), np.zeros(0, np.float32), np.ones(2, np.float32)) is None
    assert roughly("ReduceMean", np.zeros(0, np.float32)) is None
    assert roughly("LogSoftmax", np.zeros(3, np.float32)) is None
    assert evaluate("Bernoulli", ONE.astype(np.float32)) is None
    assert evaluate("RandomUniformLike", ONE) is None
    assert evaluate("Scatter", ONE, np.array([0, 0]), np.array([1, 2])) is None
    assert evaluate("Tile", ONE, np.array([-1])) is None
    assert evaluate("NoSuchOperator", ONE) is None
    assert not by_reference.evaluates("If")
    assert not by_reference.evaluates("SequenceAt")
    assert not by_reference.evaluates("Conv")


def test_a_parameter_of_a_function_is_not_known() -> None:
    node = helper.make_node("Trilu", ["x"], ["y"])
    node.attribute.add(name="upper", ref_attr_name="upper", type=onnx.AttributeProto.INT)
    assert by_reference.evaluate(node, 18, [np.ones((2, 2), np.int64)], MOST) is None


def test_floats_are_moved_and_compared() -> None:
    halves = ONE.astype(np.float32) / 2
    expected = {
        "Tile": (evaluate("Tile", halves, np.array([2])), [0.5, 1, 1.5, 0.5, 1, 1.5]),
        "Clip": (evaluate("Clip", halves, np.float32(0.75), np.float32(1)), [0.75, 1, 1]),
    }
    for found, numbers in expected.values():
        assert found is not None
        assert found[0].tolist() == numbers


ROUGHLY = {"Log": np.log, "Sin": np.sin, "ReduceMean": lambda x: x.mean(keepdims=True), "Tanh": np.tanh}


@pytest.mark.parametrize("op_type", ROUGHLY)
def test_what_rounds_is_computed_where_that_is_asked_for(op_type: str) -> None:
    given = np.array([0.3, 2.0, 7.1], np.float32)
    found = by_reference.evaluate_roughly(helper.make_node(op_type, ["x"], ["y"]), 18, [given], MOST)
    assert found is not None
    np.testing.assert_allclose(found[0], ROUGHLY[op_type](given.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("op_type", ["Bernoulli", "RandomNormalLike", "Dropout", "Resize", "Identity2"])
def test_what_is_open_is_never_computed(op_type: str) -> None:
    node = helper.make_node(op_type, ["x"], ["y"])
    assert by_reference.evaluate_roughly(node, 18, [np.ones(2, np.float32)], MOST) is None


def test_what_is_stored_in_8_bits_stays_so() -> None:
    node = helper.make_node("DequantizeLinear", ["x", "s"], ["y"])
    assert by_reference.evaluate_roughly(node, 18, [np.array([1, 2], np.int8), np.array(0.5, np.float32)], MOST) is None


def test_what_is_not_listed_elsewhere() -> None:
    expected = {
        "Tile": (evaluate("Tile", ONE, np.array([2])), [1, 2, 3, 1, 2, 3]),
        "CumSum": (evaluate("CumSum", ONE, np.array(0)), [1, 3, 6]),
        "Pad": (evaluate("Pad", ONE, np.array([1, 0]), np.array(7)), [7, 1, 2, 3]),
        "ArgMax": (evaluate("ArgMax", ONE), [2]),
    }
    for found, numbers in expected.values():
        assert found is not None
        assert found[0].tolist() == numbers


def cases() -> Iterator[Any]:
    """The node tests of ONNX of which all inputs and outputs are integers or bools."""
    kinds = {TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.INT8, TensorProto.UINT8, TensorProto.UINT64}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        tests = collect_testcases(None)
    for test in tests:
        graph = test.model.graph
        values = [value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)]
        if len(graph.node) == 1 and set(values) <= kinds and by_reference.evaluates(graph.node[0].op_type):
            yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", cases())
def test_as_the_node_tests_say(test: Any) -> None:
    graph, (inputs, outputs) = test.model.graph, test.data_sets[0]
    node, given = graph.node[0], dict(zip((value.name for value in graph.input), inputs, strict=True))
    values = [given.get(name) for name in node.input]
    found = by_reference.evaluate(node, test.model.opset_import[0].version, values, MOST)
    assert found is not None
    for value, expected in zip(found, outputs, strict=True):
        np.testing.assert_array_equal(value, expected, strict=True)


def test_nothing_is_imported_before_it_is_needed() -> None:
    program = "import sys, split_rewrite.rewriter.conversion.driver; sys.exit('onnx.reference' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("data", [[2**31 - 1, 2**31 - 1, 4], [2**20, 2**20, 2**20]])
def test_integers_that_runtimes_reduce_in_double_are_left_alone(data: list[int]) -> None:
    node = helper.make_node("ReduceL1", ["x"], ["y"], keepdims=0)
    assert by_reference.evaluate(node, 18, [np.array(data, np.int32)], 100) is None
    assert by_reference.evaluate(node, 18, [np.array([3, -4], np.int32)], 100) is not None


@pytest.mark.parametrize("operator", ["ReduceMax", "ArgMax", "Hardmax"])
def test_where_nan_is_sorted_runtimes_differ(operator: str) -> None:
    node = helper.make_node(operator, ["x"], ["y"])
    assert by_reference.evaluate_roughly(node, 13, [np.array([1, np.nan, 2], np.float32)], 100) is None
    assert by_reference.evaluate_roughly(node, 13, [np.array([1, 3, 2], np.float32)], 100) is not None
