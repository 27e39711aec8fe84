"""InstanceNormalization: opset 1 accepts only 4 dimensions.

https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node


@downgrade("InstanceNormalization", 6)
def require_four_dimensions(node: Node) -> None:
    """Nothing changes. Refused where the input does not have 4 dimensions, which opset 1 requires."""
    rank = node.need_rank()
    if rank != 4:
        raise Unconvertible(f"InstanceNormalization of opset 1 takes 4 dimensions, and '{node.input(0)}' has {rank}")
