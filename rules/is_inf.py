"""Tests and comparisons of numbers, written with the comparisons that older opsets have.

https://onnx.ai/onnx/operators/ (IsNaN, IsInf, Sign, Equal, Less, Greater). Nothing compares with NaN but by being false, and
opset 7 compares floating point only.
"""

from __future__ import annotations

import numpy as np
from onnx import helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import need_floating, typed


@decompose("IsInf", opset=7)
def beyond_the_largest(node: Node) -> None:
    """An infinity is beyond the largest finite number."""
    elem_type = need_floating(node)
    largest = float(np.finfo(helper.tensor_dtype_to_np_dtype(elem_type)).max)
    x = node.input(0)
    found: list[str] = []
    if node.attr("detect_positive", 1):
        found.append(node.before("Greater", [x, typed(node, largest, elem_type, "largest")], what="positive"))
    if node.attr("detect_negative", 1):
        found.append(node.before("Less", [x, typed(node, -largest, elem_type, "smallest")], what="negative"))
    if len(found) == 2:
        node.become("Or", found)
    elif found:
        node.become("And", [found[0], found[0]])
    else:
        node.become("Less", [x, typed(node, -np.inf, elem_type, "nothing")])
