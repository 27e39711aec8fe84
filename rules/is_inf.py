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
    """An element is infinite where it is greater than the largest finite number, or less than the smallest."""
    op = node.op
    elem_type = need_floating(node)
    largest = float(np.finfo(helper.tensor_dtype_to_np_dtype(elem_type)).max)
    x = node.input(0)
    found: list[str] = []
    if node.attr("detect_positive", 1):
        found.append(op.Greater(x, op.const(largest, elem_type)))
    if node.attr("detect_negative", 1):
        found.append(op.Less(x, op.const(-largest, elem_type)))
    if len(found) == 2:
        node.become.Or(*found)
    elif found:
        node.become.And(found[0], found[0])
    else:
        node.become.Less(x, op.const(-np.inf, elem_type))
