"""Constants in forms that runtimes read wrongly.

https://onnx.ai/onnx/operators/onnx__Constant.html, https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from ...rewriter.engine.registry import EVERY_OPERATOR, avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_MOST_BYTES = 1 << 20
"""The largest size in bytes of a value that is written down in place of the nodes that compute it."""


@avoid("Constant without the attribute value", "Constant", opset=9)
@avoid("Constant without the attribute value at opset 12", "Constant", opset=9)
def plain_tensor(node: Node) -> None:
    """The attributes value_int, value_floats, … become a tensor in the attribute value.

    It is exact for all types.
    """
    if node.has_attr("value"):
        return
    value = node.constant(node.output(0))
    if value is None:
        raise Unconvertible("its value cannot be read", "make it an initializer")
    node.become.Constant(value=numpy_helper.from_array(value))


@avoid("ConstantOfShape without value", "ConstantOfShape", opset=9)
def state_value(node: Node) -> None:
    """The default value, 0, is written out.

    It is exact: the default is a float.
    """
    if not node.has_attr("value"):
        node.set_attr("value", numpy_helper.from_array(np.zeros(1, np.float32)))


@avoid("ConstantOfShape of a scalar", "ConstantOfShape", opset=9)
def fold_scalar(node: Node) -> None:
    """If the shape is known, the result becomes a constant.

    It is exact for all types, up to a size of 1 MB.
    """
    _fold(node)


@avoid("Operator on constants", EVERY_OPERATOR, opset=9)
def fold_constants(node: Node) -> None:
    """The result becomes a constant; a comparison of floats stays, because some runtimes read no constants of type bool.

    It is exact for all types, up to a size of 1 MB, where runtimes agree about the result.
    """
    is_comparison = node.op_type == "Greater" and node.elem_type(0) == TensorProto.FLOAT
    if node.op_type != "Constant" and not is_comparison:
        _fold(node)


def _fold(node: Node) -> None:
    value = node.constant(node.output(0)) if len(node.outputs) == 1 else None
    if value is not None and value.nbytes <= _MOST_BYTES:
        node.fold()
