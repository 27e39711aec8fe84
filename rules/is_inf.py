"""IsInf below opset 10: a comparison with the largest finite number.

https://onnx.ai/onnx/operators/onnx__IsInf.html
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import need_floating


@decompose("IsInf", opset=7)
def compare_with_the_largest(node: Node) -> None:
    """An element is infinite where it, or its absolute value, is greater than the largest finite number."""
    op = node.op
    elem_type = need_floating(node)
    largest = float(np.finfo(helper.tensor_dtype_to_np_dtype(elem_type)).max)
    x, positive, negative = node.input(0), node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    if positive:
        node.become.Greater(op.Abs(x) if negative else x, op.const(largest, elem_type))
    else:
        node.become.Less(x, op.const(-largest if negative else -np.inf, elem_type))
