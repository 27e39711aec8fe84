"""Single operations on bfloat16 below opset 13, which has no such type: each is computed in float, and its result rounded.

float has more than twice the precision of bfloat16 plus two bits, so rounding a sum, difference, product, quotient or square root
to float and then to bfloat16 is the same as rounding it once.
https://onnx.ai/onnx/operators/onnx__Add.html, and the same pages of Sub, Mul, Div, Sqrt, Reciprocal, LeakyRelu, PRelu.
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import widen
from ...rewriter.graph.node import Node
from ..shared.rounding import become_value, rounded


@widen(("Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "LeakyRelu", "PRelu"))
def round_back(node: Node) -> None:
    """A single operation in bfloat16 is computed in float, and its result is rounded to bfloat16."""
    if node.need_elem_type() != TensorProto.BFLOAT16 or not node.rounds_to(TensorProto.BFLOAT16):
        return
    alpha = node.attr("alpha", 0.01) if node.op_type == "LeakyRelu" else None
    exact = getattr(node.op, node.op_type)(*node.inputs, alpha=alpha)
    become_value(node, rounded(node, exact, TensorProto.BFLOAT16))
