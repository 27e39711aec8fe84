"""Unsqueeze of an open shape. https://onnx.ai/onnx/operators/onnx__Unsqueeze.html"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node

_INFERRED = -1
"""The length that Reshape computes from all others."""


@avoid("Unsqueeze of an open first axis", "Unsqueeze", opset=7)
def reshape(node: Node) -> None:
    """The node becomes a Reshape.

    It is exact for all types. Only where there are at least three axes, and all lengths but the first are known.
    """
    shape, result = node.shape(0), node.shape(node.output(0))
    if shape is None or result is None or len(shape) < 3 or isinstance(shape[0], int):
        return
    lengths = [length if isinstance(length, int) else _INFERRED for length in result]
    if all(isinstance(length, int) and length for length in shape[1:]) and lengths.count(_INFERRED) == 1:
        node.become.Reshape(node.input(0), node.op.int64(lengths))
