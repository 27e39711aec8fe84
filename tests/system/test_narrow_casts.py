"""ONNX's own tests of Cast and CastLike with types that old opsets lack, at opset 9: the same numbers, to the last bit.

Inputs of such a type are stored in the model, and outputs cast to float, so that its interface has types that every opset has.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import convert_version, known, run
from onnx import TensorProto, helper, numpy_helper

from split_rewrite.rewriter import Options

NARROW = frozenset(range(16, 29))
"""The numbers of the element types from bfloat16 on."""
TARGET = 9
pytestmark = pytest.mark.skipif(not known(25), reason="the tests of older releases of onnx hold such types in their own way")
SPECIFICATION = Options(semantics="specification")


@cache
def cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    return {case.name: case for case in found if case.name.startswith("test_cast") and has_narrow_interface(case.model)}


def elem_type(value: onnx.ValueInfoProto) -> int:
    return value.type.tensor_type.elem_type


def has_narrow_interface(model: onnx.ModelProto) -> bool:
    return not NARROW.isdisjoint(map(elem_type, (*model.graph.input, *model.graph.output)))


def array(value: Any) -> np.ndarray:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def with_wide_interface(model: onnx.ModelProto, given: list[Any]) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    inputs = list(graph.input)
    del graph.input[:]
    for value, data in zip(inputs, given, strict=True):
        if elem_type(value) in NARROW:
            graph.initializer.append(data if isinstance(data, TensorProto) else numpy_helper.from_array(data, value.name))
            graph.initializer[-1].name = value.name
        else:
            graph.input.append(value)
    (output,) = graph.output
    if elem_type(output) in NARROW:
        graph.node[-1].output[0] = "narrow"
        graph.node.append(helper.make_node("Cast", ["narrow"], [output.name], to=TensorProto.FLOAT))
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    return result


@pytest.mark.parametrize("name", sorted(cases()))
def test_same_numbers(name: str) -> None:
    case = cases()[name]
    given, (expected,) = case.data_sets[0]
    names = [value.name for value in case.model.graph.input]
    model = with_wide_interface(case.model, given)
    result = convert_version(model, TARGET, options=SPECIFICATION).model
    wide = {value.name for value in model.graph.input}
    (got,) = run(result, {key: array(data) for key, data in zip(names, given, strict=True) if key in wide})
    expected = array(expected)
    kind = np.float64 if expected.dtype.kind not in "OSU" else expected.dtype
    np.testing.assert_array_equal(np.asarray(got).astype(kind), expected.astype(kind))
