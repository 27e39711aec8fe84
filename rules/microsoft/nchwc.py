"""Operators of com.microsoft.nchwc, which onnxruntime's optimizer writes at its level "all": channels laid out in blocks.

ReorderInput and ReorderOutput stand where the layout begins and ends. Between them each operator computes what its namesake does,
with the channels that fill the last block up, and so do the elementwise operators and the Concats that the optimizer leaves there.
https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/nchwc_schema_defs.cc
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.channel_blocks import DOMAIN, block_of, missing_channels, plain_weights, require_blocks
from ..shared.channels_last import channels_first, channels_last
from ..shared.contrib import contrib
from ..shared.convolutions import convolved, finished
from ..shared.windows import AVERAGING, POOLING, attributes_of


@contrib("Conv", opset=13, sums=True, domain=DOMAIN)
def convolve_blocks(node: Node) -> None:
    """The node becomes Conv with its weights in ONNX's order, Add of the fourth input, and the activation."""
    weights = node.const_input(1, "the weights")
    require_blocks(node)
    stored = node.op.const(plain_weights(weights, block_of(node)), node.need_elem_type(1))
    _make(node, finished(node, convolved(node, node.input(0), stored)))


@contrib("MaxPool", opset=13, exact=True, domain=DOMAIN)
def pool_blocks(node: Node) -> None:
    """The node becomes MaxPool."""
    require_blocks(node)
    _make(node, node.op.MaxPool(node.input(0), **attributes_of(node, POOLING)))


@contrib("AveragePool", opset=19, domain=DOMAIN)
def average_blocks(node: Node) -> None:
    """The node becomes AveragePool."""
    require_blocks(node)
    _make(node, node.op.AveragePool(node.input(0), **attributes_of(node, (*AVERAGING, "dilations"))))


@contrib(("GlobalAveragePool", "GlobalMaxPool"), opset=13, domain=DOMAIN)
def pool_all_of_blocks(node: Node) -> None:
    """The node becomes its namesake."""
    require_blocks(node)
    _make(node, getattr(node.op, node.op_type)(node.input(0)))


@contrib("Upsample", opset=13, domain=DOMAIN)
def resize_blocks(node: Node) -> None:
    """The node becomes Resize. Without a mode it is nearest, which repeats each element."""
    require_blocks(node)
    scales = node.op.const([float(each) for each in node.attr("scales")], node.need_elem_type())
    mode, place = node.attr("mode", "nearest"), node.attr("coordinate_transformation_mode", "asymmetric")
    resized = node.op.Resize(node.input(0), "", scales, mode=mode, coordinate_transformation_mode=place, nearest_mode="floor")
    _make(node, resized)


@contrib("ReorderInput", opset=13, exact=True, domain=DOMAIN)
def enter_blocks(node: Node) -> None:
    """The node goes; a Transpose brings channels that are last behind the batch, and a Pad fills the last block up with zeros."""
    rank, is_last = node.need_rank(), bool(node.attr("channels_last", 0))
    more = missing_channels(node, rank - 1 if is_last else 1)
    require_blocks(node)
    value = channels_first(node, node.input(0), rank) if is_last else node.input(0)
    if more:
        value = node.op.Pad(value, node.op.int64([0] * (rank + 1) + [more] + [0] * (rank - 2)))
    _make(node, value)


@contrib("ReorderOutput", opset=13, exact=True, domain=DOMAIN)
def leave_blocks(node: Node) -> None:
    """The node goes; a Slice leaves what fills the last block up out, and a Transpose brings the channels to the end."""
    value, channels = node.input(0), node.attr("channels")
    if node.dimension(1) != channels:
        value = node.op.Slice(value, node.op.int64([0]), node.op.int64([channels]), node.op.int64([1]))
    node.give(channels_last(node, value, node.need_rank()) if node.attr("channels_last", 0) else value)


def _make(node: Node, value: str) -> None:
    """Let all that reads the output read `value`. The name of the output goes, since it stood for elements in another order."""
    node.forward(0, value)
    node.remove()
