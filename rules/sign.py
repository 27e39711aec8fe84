"""Tests and comparisons of numbers, written with the comparisons that older opsets have.

https://onnx.ai/onnx/operators/ (IsNaN, IsInf, Sign, Equal, Less, Greater). Nothing compares with NaN but by being false, and
opset 7 compares floating point only.
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import typed


@decompose("Sign", opset=9)
def above_minus_below(node: Node) -> None:
    """One where it is above zero, less one where it is below."""
    elem_type = node.need_elem_type()
    zero = typed(node, 0, elem_type, "zero")
    above = node.before("Greater", [node.input(0), zero], what="above")
    below = node.before("Less", [node.input(0), zero], what="below")
    plus, minus = (node.before("Cast", [name], what="sign", to=TensorProto.FLOAT) for name in (above, below))
    node.become("Cast", [node.before("Sub", [plus, minus], what="sign")], to=elem_type)
