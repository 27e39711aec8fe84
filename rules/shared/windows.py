"""What operators that slide a window over a tensor have in common with their forms on 8-bit integers.

https://onnx.ai/onnx/operators/onnx__Conv.html, https://onnx.ai/onnx/operators/onnx__AveragePool.html
"""

from __future__ import annotations

from typing import Any

from ...rewriter.graph.node import Node

CONVOLUTION = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
"""The attributes of Conv, ConvInteger and QLinearConv."""
TRANSPOSED = (*CONVOLUTION, "output_padding", "output_shape")
"""The attributes of ConvTranspose and QLinearConvTranspose."""
POOLING = ("auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides")
"""The attributes of MaxPool."""
AVERAGING = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
"""The attributes of AveragePool of opset 11 and QLinearAveragePool."""


def attributes_of(node: Node, names: tuple[str, ...]) -> dict[str, Any]:
    """The attributes of the node that are called `names`; None stands for an absent one."""
    return {name: node.attr(name) for name in names}
