"""Celu below opset 12: an Elu of a scaled input, or its definition.

https://onnx.ai/onnx/operators/onnx__Celu.html
"""

from __future__ import annotations

import math

from onnx import TensorProto

from ..rewriter.engine.registry import avoid, decompose, downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@avoid("Celu with alpha", "Celu", opset=7, exact=False)
@decompose("Celu", opset=7, exact=False, any_version=True)
def scaled_elu(node: Node) -> None:
    """The node becomes alpha * Elu(x / alpha) if alpha is 2, 4, 8, …, else max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    With another alpha, the first form rounds positive numbers, and makes an infinity of the largest one. ONNX's own body is not
    used, because it makes a vector of a scalar. It is right up to the last bits; bfloat16 is refused.
    """
    op = node.op
    kind = node.need_elem_type()
    if kind == TensorProto.BFLOAT16:
        raise Unconvertible("bfloat16 does not exist before opset 13, and Celu computes in it", "cast the model to another type")
    x, slope = node.input(0), node.attr("alpha", 1.0)
    if slope == 0:
        raise Unconvertible("alpha=0: Celu divides by it", "correct the model")
    if slope == 1:
        node.become.Elu(x)
        return
    alpha = op.const(slope, kind)
    scaled = op.Div(x, alpha)
    if slope > 1 and math.frexp(slope)[0] == 0.5:
        node.become.Mul(alpha, op.Elu(scaled))
        return
    fallen = op.Sub(op.const(1, kind), op.Exp(scaled))
    below = op.Relu(op.Mul(alpha, fallen))
    node.become.Sub(op.Relu(x), below)


@downgrade("Celu", 28, exact=False)
def write_out_double(node: Node) -> None:
    """A Celu of double, which opset 28 brought, is written out: float would not hold it."""
    if node.elem_type() == TensorProto.DOUBLE:
        scaled_elu(node)
