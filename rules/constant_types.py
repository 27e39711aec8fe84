"""Constant: before opset 9 only of floating types.

https://onnx.ai/onnx/operators/onnx__Constant.html (Constant-1, Constant-9)
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, downgrade

FLOATING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


@downgrade("Constant", 9)
def cast_from_double(node: Node) -> None:
    """A constant of integers or booleans becomes a Cast of the same numbers as doubles."""
    tensor = node.attr("value")
    if tensor is None or tensor.data_type in FLOATING:
        return
    value = node.scope.constant(node.output(0))
    if value is None or value.dtype.kind not in "iub":
        name = TensorProto.DataType.Name(tensor.data_type).lower()
        raise Unconvertible(f"a Constant of type {name} does not exist before opset 9", "make it an initializer")
    doubles = value.astype(np.float64)
    if [int(number) for number in doubles.flat] != [int(number) for number in value.flat]:
        raise Unconvertible("a Constant of 64-bit integers beyond 2^53 does not exist before opset 9", "make it an initializer")
    floating = node.before("Constant", [], what="double", value=numpy_helper.from_array(doubles))
    node.become("Cast", [floating], to=tensor.data_type)
