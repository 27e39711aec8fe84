"""Sign below opset 9: two comparisons with zero.

https://onnx.ai/onnx/operators/onnx__Sign.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING, typed


@decompose("Sign", opset=9)
def compare_with_zero(node: Node) -> None:
    """1 where the input is above zero, less 1 where it is below; NaN stays NaN."""
    elem_type = node.need_elem_type()
    zero = typed(node, 0, elem_type, "zero")
    above = node.before("Greater", [node.input(0), zero], what="above")
    below = node.before("Less", [node.input(0), zero], what="below")
    plus, minus = (node.before("Cast", [name], what="sign", to=TensorProto.FLOAT) for name in (above, below))
    sign = node.before("Sub", [plus, minus], what="sign")
    if elem_type not in FLOATING:
        node.become("Cast", [sign], to=elem_type)
        return
    sign = node.before("Cast", [sign], what="sign", to=elem_type)
    is_nan = node.before("IsNaN", [node.input(0)], what="is_nan")
    node.become("Where", [is_nan, node.input(0), sign])
