"""InstanceNormalization, GroupNormalization and MeanVarianceNormalization.

https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html, https://onnx.ai/onnx/operators/onnx__GroupNormalization.html,
https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("InstanceNormalization", 6)
def only_images(node: Node) -> None:
    """Opset 1 takes 4 dimensions."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"InstanceNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")
