"""QLinearConv of onnxruntime, whose channels may be the last axis, as ONNX's own.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QLinearConv
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib
from ..shared.windows import CONVOLUTION, attributes_of


@contrib("QLinearConv", opset=10, steps=True)
def convolve_as_onnx(node: Node) -> None:
    """The node becomes ONNX's QLinearConv, between Transposes with channels_last=1."""
    attributes = attributes_of(node, CONVOLUTION)
    operands = node.inputs if node.has_input(8) else node.inputs[:8]
    if not node.attr("channels_last", 0):
        node.become.QLinearConv(*operands, **attributes)
        return
    rank = node.need_rank()
    value = node.op.QLinearConv(channels_first(node, operands[0], rank), *operands[1:], **attributes)
    node.give(channels_last(node, value, rank))
