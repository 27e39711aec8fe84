"""Gelu, BiasGelu, FastGelu and QuickGelu: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.graph.node import Node
from ..shared.contrib import contrib


@contrib("Gelu", opset=20)
def gelu(node: Node) -> None:
    """The node becomes ONNX's own Gelu."""
    node.become.Gelu(node.input(0))


@contrib("BiasGelu", opset=20)
def gelu_of_sum(node: Node) -> None:
    """The node becomes the Gelu of x + bias."""
    node.become.Gelu(node.op.Add(node.input(0), node.input(1)))


@contrib("FastGelu", opset=20)
def fast_gelu(node: Node) -> None:
    """The node becomes the Gelu that is approximated by a hyperbolic tangent, of x + bias if there is a bias."""
    op = node.op
    x = op.Add(node.input(0), node.input(1)) if node.has_input(1) else node.input(0)
    if node.need_elem_type() != TensorProto.DOUBLE:
        node.become.Gelu(x, approximate="tanh")
        return
    # onnxruntime's factors have six digits, which a double shows.
    linear, cubic, half, one = (op.const(number, np.float64) for number in (0.797885, 0.035677, 0.5, 1))
    curve = op.Tanh(op.Mul(x, op.Add(op.Mul(op.Mul(x, x), cubic), linear)))
    node.become.Mul(op.Mul(x, half), op.Add(curve, one))


@contrib("QuickGelu", opset=13)
def quick_gelu(node: Node) -> None:
    """x · sigmoid(alpha · x)."""
    op, x = node.op, node.input(0)
    alpha = node.attr("alpha", 1.702)
    scaled = x if alpha == 1 else op.Mul(x, op.const(alpha, node.need_elem_type()))
    node.become.Mul(x, op.Sigmoid(scaled))
