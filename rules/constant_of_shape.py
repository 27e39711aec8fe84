"""ConstantOfShape below opset 9: an Expand of the value.

https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
"""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.parameters import one_number


@decompose("ConstantOfShape", opset=8)
def expand_the_value(node: Node) -> None:
    """The node becomes an Expand of the constant value to the shape."""
    tensor = node.attr("value")
    value = np.zeros(1, np.float32) if tensor is None else numpy_helper.to_array(tensor)
    node.become.Expand(node.op.const(one_number(value), value.dtype), node.input(0))
