"""InstanceNormalization: opset 1 takes images only.

https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("InstanceNormalization", 6)
def require_four_dimensions(node: Node) -> None:
    """Refused where the input has not 4 dimensions, all that opset 1 takes."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"InstanceNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")
