"""FusedConv, NhwcConv, NhwcFusedConv and NhwcMaxPool: Conv and MaxPool with what follows them, or with the channels last.

The order is that of the kernel: the convolution, the sum with Z, the activation.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedConv
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib
from ..shared.convolutions import convolved, finished
from ..shared.windows import POOLING, attributes_of


@contrib("FusedConv", opset=13, sums=True)
def convolve_and_activate(node: Node) -> None:
    """The node becomes Conv, Add of the fourth input, and the activation."""
    node.give(finished(node, convolved(node, node.input(0), node.input(1))))


@contrib(("NhwcConv", "NhwcFusedConv"), opset=13, sums=True)
def convolve_channels_last(node: Node) -> None:
    """The node becomes Conv between Transposes, and what is fused into it. The weights have the channels behind the maps."""
    rank = node.need_rank()
    value = convolved(node, channels_first(node, node.input(0), rank), node.input(1))
    node.give(finished(node, channels_last(node, value, rank)))


@contrib("NhwcMaxPool", opset=13, exact=True)
def pool_channels_last(node: Node) -> None:
    """The node becomes MaxPool between Transposes."""
    rank = node.need_rank()
    value = node.op.MaxPool(channels_first(node, node.input(0), rank), **attributes_of(node, POOLING))
    node.give(channels_last(node, value, rank))
