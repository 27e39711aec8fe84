"""Operators of onnxruntime that add a bias before they do what an operator of ONNX does.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.BiasAdd
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.contrib import contrib


@contrib("BiasAdd", opset=13, exact=True)
def add_bias(node: Node) -> None:
    """The node becomes two Adds."""
    x, bias, skip = node.inputs
    node.become.Add(node.op.Add(x, bias), skip)


@contrib("BiasSplitGelu", opset=20)
def split_gelu(node: Node) -> None:
    """The node becomes an Add, a Split in two halves, and the first of these times the Gelu of the second."""
    op = node.op
    left, right = op.Split(op.Add(*node.inputs), outputs=2, axis=2, num_outputs=2)
    node.become.Mul(left, op.Gelu(right))


@contrib("BiasDropout", opset=13)
def drop_after_sum(node: Node) -> None:
    """The node becomes Add, Dropout where it is more than a copy, and Add for the residual."""
    op = node.op
    data, bias, residual, ratio, training = (node.input(index) for index in range(5))
    total = op.Add(data, bias)
    if node.has_output(1) or _may_train(node, training):
        outputs = [node.fresh_name("dropped") if residual else node.output(0), *([node.output(1)] if node.has_output(1) else [])]
        operands = [total, ratio, training]
        while not operands[-1]:
            operands.pop()
        total, *_ = op.Dropout(*operands, outputs=outputs, seed=node.attr("seed"))
        if not residual:
            node.remove()
            return
    if residual:
        node.become.Add(total, residual)
    else:
        node.give(total)


def _may_train(node: Node, training: str) -> bool:
    """Whether the node may drop anything: it does so only if training_mode is true."""
    if not training:
        return False
    value = node.constant(training)
    return value is None or bool(value.any())
