"""ONNX's own tests of the quantized operators, at every opset down to 9: the same numbers, or the refusal that is expected.

What an older opset has no type for is in the middle only: inputs and outputs of a narrow type are wide ones, cast.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import convert_version, known, run
from onnx import TensorProto, helper, numpy_helper

OPERATORS = frozenset(
    {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
    | {"QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger"}
)
TARGETS = known(25, 23, 21, 20, 19, 18, 13, 12, 11, 10, 9)
_WIDE_TYPES = ("FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32")
WIDE = frozenset(TensorProto.DataType.Value(name) for name in _WIDE_TYPES)
"""The types that every opset has."""


pytestmark = pytest.mark.skipif(not known(25), reason="old onnx's data are of sums that wrap, and hold float8 as bits")


@dataclass(frozen=True)
class Case:
    """A model with its inputs by name and the outputs that they give, all in types that every opset has."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    outputs: list[np.ndarray]


def wide_type(narrow: int) -> int:
    """The type that holds the numbers of a narrow one."""
    name = TensorProto.DataType.Name(narrow)
    wide = {"INT": "INT8", "UINT": "UINT8"}.get(name.rstrip("0123456789"), "FLOAT")
    return TensorProto.DataType.Value(wide)


def widened(model: onnx.ModelProto, given: dict[str, onnx.TensorProto]) -> onnx.ModelProto:
    """`model` with an interface of wide types: a Cast behind each narrow input, and before each narrow output.

    A zero point in a narrow floating-point type is a constant, as it is in all models: it only says the type.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    nodes, inputs = list(graph.node), list(graph.input)
    del graph.node[:], graph.input[:]
    for value in (*inputs, *graph.output):
        kind = value.type.tensor_type.elem_type
        is_input = value.name in given
        if is_input and "zero_point" in value.name and wide_type(kind) == TensorProto.FLOAT:
            graph.initializer.append(given[value.name])
            continue
        if kind not in WIDE:
            wide, narrow = f"wide_{value.name}", value.name
            names = ([wide], [narrow]) if is_input else ([narrow], [wide])
            nodes.insert(0 if is_input else len(nodes), helper.make_node("Cast", *names, to=kind if is_input else wide_type(kind)))
            value.name = wide
            value.type.tensor_type.elem_type = wide_type(kind)
        if is_input:
            graph.input.append(value)
    graph.node.extend(nodes)
    return result


def as_tensor(given: Any, name: str) -> onnx.TensorProto:
    """`given`, a tensor or an array, as a tensor called `name`."""
    tensor = onnx.TensorProto()
    tensor.CopyFrom(given if isinstance(given, TensorProto) else numpy_helper.from_array(np.asarray(given)))
    tensor.name = name
    return tensor


def in_wide_type(given: Any) -> np.ndarray:
    """`given`, a tensor or an array, in the type that a wide interface has for it."""
    value = numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return value if kind in WIDE else value.astype(helper.tensor_dtype_to_np_dtype(wide_type(kind)))


@cache
def cases() -> dict[str, Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        tests = collect_testcases(None)
    found: dict[str, Case] = {}
    for test in tests:
        if test.model is None or not any(node.op_type in OPERATORS for node in test.model.graph.node):
            continue
        inputs, outputs = test.data_sets[0]
        names = [value.name for value in test.model.graph.input]
        given = {name: as_tensor(value, name) for name, value in zip(names, inputs, strict=True)}
        model = widened(test.model, given)
        values = {value.name: in_wide_type(given[value.name.removeprefix("wide_")]) for value in model.graph.input}
        found[test.name] = Case(model, values, list(map(in_wide_type, outputs)))
    return found


@pytest.mark.parametrize("name", cases())
def test_every_opset_down_to_9(name: str) -> None:
    case = cases()[name]
    (opset,) = [entry.version for entry in case.model.opset_import if not entry.domain]
    for target in TARGETS:
        if target >= opset:
            continue
        result = convert_version(case.model, target).model
        runtime = "onnxruntime" if target <= 20 else "onnx.reference"
        for expected, got in zip(case.outputs, run(result, case.inputs, runtime), strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected, err_msg=f"opset {target}")
