"""DepthToSpace and SpaceToDepth: mode CRD came later than the operators, with opset 11 and opset 28.

https://onnx.ai/onnx/operators/onnx__DepthToSpace.html, https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.tables import arange


@downgrade("DepthToSpace", 11)
def blocks_first(node: Node) -> None:
    """Mode CRD becomes the default DCR, and a Gather before the node reorders the channels."""
    if node.pop_attr("mode", "DCR") == "CRD":
        blocks, depth = node.attr("blocksize") ** 2, node.need_dimension(1)
        if depth % blocks:
            raise Unconvertible(f"{depth} channels do not divide into blocks of {blocks}", "correct the model")
        order = arange(depth).reshape(-1, blocks).T
        channels = node.op.int64(order.reshape(-1).tolist())
        node.set_input(0, node.op.Gather(node.input(0), channels, axis=1))


@downgrade("SpaceToDepth", 28)
def channels_first(node: Node) -> None:
    """Mode CRD becomes the default DCR, and a Gather after the node reorders the channels."""
    if node.pop_attr("mode", "DCR") == "CRD":
        blocks = node.attr("blocksize") ** 2
        order = arange(node.need_dimension(1) * blocks).reshape(blocks, -1).T
        channels = node.op.int64(order.reshape(-1).tolist())
        output = node.output(0)
        node.after.Gather(node.detach_output(0, "blocks_first"), channels, output=output, axis=1)
