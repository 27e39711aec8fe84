"""Tensors that are made from a shape: Expand, ConstantOfShape, Range, EyeLike, Trilu.

https://onnx.ai/onnx/operators/onnx__Expand.html, onnx__ConstantOfShape.html, onnx__Range.html, onnx__EyeLike.html,
onnx__Trilu.html
"""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.parameters import one_number


@decompose("ConstantOfShape", opset=8)
def expand_the_value(node: Node) -> None:
    """The value, expanded to the shape."""
    tensor = node.attr("value")
    value = np.zeros(1, np.float32) if tensor is None else numpy_helper.to_array(tensor)
    node.become("Expand", [node.add_constant(one_number(value), value.dtype, "value"), node.input(0)])
