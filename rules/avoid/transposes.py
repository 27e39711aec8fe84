"""Transpose of few axes. https://onnx.ai/onnx/operators/onnx__Transpose.html"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node


@avoid("Transpose of one axis", "Transpose", opset=7)
def do_nothing(node: Node) -> None:
    """The node becomes an Identity.

    It is exact for all types.
    """
    if node.need_rank() == 1:
        node.become.Identity(node.input(0))
