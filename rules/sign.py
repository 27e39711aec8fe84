"""Sign below opset 9: two comparisons with zero.

https://onnx.ai/onnx/operators/onnx__Sign.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING


@decompose("Sign", opset=9)
def compare_with_zero(node: Node) -> None:
    """The node becomes (x > 0) - (x < 0); NaN stays NaN."""
    op = node.op
    elem_type = node.need_elem_type()
    zero = op.const(0, elem_type)
    above = op.Greater(node.input(0), zero)
    below = op.Less(node.input(0), zero)
    plus, minus = (op.Cast(name, to=TensorProto.FLOAT) for name in (above, below))
    sign = op.Sub(plus, minus)
    if elem_type not in FLOATING:
        node.become.Cast(sign, to=elem_type)
        return
    sign = op.Cast(sign, to=elem_type)
    is_nan = op.IsNaN(node.input(0))
    node.become.Where(is_nan, node.input(0), sign)
