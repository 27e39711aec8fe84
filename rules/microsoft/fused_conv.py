"""FusedConv, NhwcConv, NhwcFusedConv and NhwcMaxPool: Conv and MaxPool with what follows them, or with the channels last.

The order is that of the kernel: the convolution, the sum with Z, the activation.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.FusedConv
"""

from __future__ import annotations

from typing import Any

from ...rewriter.graph.node import Node
from ..shared.activations import activated
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib

_WINDOW = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")


@contrib("FusedConv", opset=13, sums=True)
def convolve_and_activate(node: Node) -> None:
    """The node becomes Conv, Add of the fourth input, and the activation."""
    value = node.op.Conv(*_operands(node, node.input(0)), **_attributes(node))
    node.give(_finished(node, value))


@contrib(("NhwcConv", "NhwcFusedConv"), opset=13, sums=True)
def convolve_channels_last(node: Node) -> None:
    """The node becomes Conv between Transposes, and what is fused into it. The weights have the channels behind the maps."""
    rank = node.need_rank()
    value = node.op.Conv(*_operands(node, channels_first(node, node.input(0), rank)), **_attributes(node))
    node.give(_finished(node, channels_last(node, value, rank)))


@contrib("NhwcMaxPool", opset=13, exact=True)
def pool_channels_last(node: Node) -> None:
    """The node becomes MaxPool between Transposes."""
    rank = node.need_rank()
    attributes = {name: node.attr(name) for name in (*_WINDOW, "ceil_mode")}
    value = node.op.MaxPool(channels_first(node, node.input(0), rank), **attributes)
    node.give(channels_last(node, value, rank))


def _operands(node: Node, data: str) -> list[str]:
    return [data, node.input(1), *([node.input(2)] if node.has_input(2) else [])]


def _attributes(node: Node) -> dict[str, Any]:
    return {name: node.attr(name) for name in (*_WINDOW, "group")}


def _finished(node: Node, value: str) -> str:
    """`value` plus the fourth input, after the activation."""
    if node.has_input(3):
        value = node.op.Add(value, node.input(3))
    name = node.attr("activation", "")
    names = ("min", "max") if name == "Clip" else ("alpha", "beta")
    return activated(node, value, name, dict(zip(names, node.attr("activation_params", []), strict=False)))
