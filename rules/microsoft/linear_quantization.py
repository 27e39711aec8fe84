"""QuantizeLinear and DequantizeLinear of onnxruntime, which had types of 16 and 4 bits before ONNX, as ONNX's own.

https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QuantizeLinear
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.contrib import contrib
from ..shared.quantized import scalar


@contrib(("QuantizeLinear", "DequantizeLinear"), opset=21, exact=True)
def quantize_as_onnx(node: Node) -> None:
    """The node becomes ONNX's own operator of the same name. Without `axis`, there is one scale for all."""
    axis = node.attr("axis")
    positions = [index for index in (1, 2) if node.has_input(index)]
    operands = [scalar(node, index) if axis is None else node.input(index) for index in positions]
    getattr(node.become, node.op_type)(node.input(0), *operands, axis=axis)
