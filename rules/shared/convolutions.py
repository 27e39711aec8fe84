"""Conv with what onnxruntime fuses into it, in the order of its kernel: the convolution, the sum with Z, the activation.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedConv
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from .activations import activated
from .windows import CONVOLUTION, attributes_of


def convolved(node: Node, data: str, weights: str) -> str:
    """`data` as Conv makes it of `weights`, with the attributes and the bias of the node."""
    bias = [node.input(2)] if node.has_input(2) else []
    return node.op.Conv(data, weights, *bias, **attributes_of(node, CONVOLUTION))


def finished(node: Node, value: str) -> str:
    """`value` plus the fourth input, after the activation."""
    return with_activation(node, node.op.Add(value, node.input(3)) if node.has_input(3) else value)


def with_activation(node: Node, value: str) -> str:
    """`value` after the activation that the node names."""
    name = node.attr("activation", "")
    names = ("min", "max") if name == "Clip" else ("alpha", "beta")
    return activated(node, value, name, dict(zip(names, node.attr("activation_params", []), strict=False)))
