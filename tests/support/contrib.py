"""Tests of operators of onnxruntime: one node beside its kernel, and what becomes of it with --standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from helpers import model, run
from onnx import helper, numpy_helper

from split_rewrite.rewriter import Options, UnconvertibleError, convert_version

STANDARD = Options(standard=True)
Arrays = Mapping[str, np.ndarray]


def shown(array: np.ndarray) -> str:
    """The type of `array` as onnx.parser reads it."""
    kind = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(array.dtype)).lower()
    return f"{kind}[{','.join(map(str, array.shape))}]" if array.ndim else kind


def contrib_model(node: str, inputs: Arrays, outputs: str, *, constants: Arrays | None = None, opset: int = 17) -> onnx.ModelProto:
    """A model of the text `node`, with `inputs` of these shapes and stored `constants`."""
    declared = ", ".join(f"{shown(array)} {name}" for name, array in inputs.items())
    proto = model(f"""<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>
        agraph ({declared}) => ({outputs}) {{ {node} }}""")
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in (constants or {}).items())
    return proto


def assert_standard(
    node: str,
    inputs: Arrays,
    outputs: str,
    *,
    constants: Arrays | None = None,
    targets: Sequence[int] = (18, 13),
    opset: int = 17,
    rtol: float = 0.0,
    atol: float = 0.0,
    compare: Any = "required",
) -> onnx.ModelProto:
    """Assert that the node computes the same as onnxruntime's kernel with ONNX's own operators, at each target.

    Without tolerances, the results have to be equal to the last bit. Returns the model at the last target.
    """
    proto = contrib_model(node, inputs, outputs, constants=constants, opset=opset)
    expected = run(proto, dict(inputs))
    result = proto
    for target in targets:
        result = convert_version(proto, target, compare=compare, options=STANDARD).model
        assert {made.domain for made in result.graph.node} <= {""}
        assert [entry.domain for entry in result.opset_import] == [""]
        for wanted, got in zip(expected, run(result, dict(inputs)), strict=True):
            assert got.dtype == wanted.dtype and got.shape == wanted.shape
            np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)
    return result


def refused(node: str, inputs: Arrays, outputs: str = "float[2,4] y", *, constants: Arrays | None = None, target: int = 13) -> str:
    """The message with which --standard refuses the node."""
    with pytest.raises(UnconvertibleError) as caught:
        convert_version(contrib_model(node, inputs, outputs, constants=constants), target, compare="off", options=STANDARD)
    return str(caught.value)


def operators(proto: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in proto.graph.node]
