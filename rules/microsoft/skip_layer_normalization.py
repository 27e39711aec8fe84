"""Normalizations of onnxruntime: of the sum of two inputs, and by the root of the mean square.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.SkipLayerNormalization
"""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib
from ..shared.normalization import normalize_by_squares

_MEAN, _DEVIATION, _SUM = 1, 2, 3


@contrib("SkipLayerNormalization", opset=17)
def normalize_sum(node: Node) -> None:
    """The node becomes Add, a second Add for the bias, and LayerNormalization of the sum, which is the fourth output."""
    total = _sum(node, bias=4)
    operands = [total, node.input(2), *([node.input(3)] if node.has_input(3) else [])]
    outputs = [node.output(index) for index in (0, _MEAN, _DEVIATION)]
    while not outputs[-1]:
        outputs.pop()
    node.op.LayerNormalization(*operands, outputs=outputs, axis=-1, epsilon=node.attr("epsilon", 1e-12))
    node.remove()


@contrib("SimplifiedLayerNormalization", opset=13)
def normalize_squares(node: Node) -> None:
    """The node becomes RMSNormalization, or below opset 23 what exporters wrote before.

    Models have this operator in ONNX's domain, where onnxruntime accepts it; it is moved to com.microsoft before.
    """
    normalize_by_squares(node, node.input(0), node.input(1), node.attr("epsilon", 1e-5), deviation=1)


@contrib("SkipSimplifiedLayerNormalization", opset=13)
def normalize_sum_by_squares(node: Node) -> None:
    """The node becomes Add, a second Add for the bias, and RMSNormalization of the sum, which is the fourth output."""
    if node.is_read(_MEAN):
        raise Unconvertible("SkipSimplifiedLayerNormalization computes no mean, which is read here", "remove this output")
    normalize_by_squares(node, _sum(node, bias=3), node.input(2), node.attr("epsilon", 1e-12), deviation=_DEVIATION)


def _sum(node: Node, bias: int) -> str:
    """The sum that a SkipLayerNormalization normalizes, which is its fourth output.

    `bias` is the position of the bias in the inputs.
    """
    op = node.op
    sizes = zip(reversed(node.shape() or ()), reversed(node.shape(1) or ()), strict=False)
    if any(size == 1 and other != 1 and isinstance(other, int) for size, other in sizes):
        raise Unconvertible(f"{node.op_type} does not broadcast its first input to the second", "correct the model")
    total = op.Add(node.input(0), node.input(1))
    if node.has_input(bias):
        total = op.Add(total, node.input(bias))
    if node.has_output(_SUM):
        op.Identity(total, output=node.output(_SUM))
    return total
