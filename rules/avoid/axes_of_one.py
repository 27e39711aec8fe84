"""Unsqueeze and Squeeze of an open shape.

https://onnx.ai/onnx/operators/onnx__Unsqueeze.html, https://onnx.ai/onnx/operators/onnx__Squeeze.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node

_INFERRED = -1
"""The length that Reshape computes from all others."""


@avoid("Unsqueeze or Squeeze of an open first axis", ("Unsqueeze", "Squeeze"), opset=7)
def reshape(node: Node) -> None:
    """The node becomes a Reshape.

    It is exact for all types. Only where there are at least three axes, and all lengths but the first are known. A Squeeze without
    axes is refused.
    """
    shape, result = node.shape(0), node.shape(node.output(0))
    if shape is None or len(shape) < 3 or isinstance(shape[0], int):
        return
    if node.op_type == "Squeeze" and not (node.has_attr("axes") or node.has_input(1)):
        node.need_dimension(0)  # it goes if it is 1
    if result is None:
        return
    lengths = [length if isinstance(length, int) else _INFERRED for length in result]
    if all(isinstance(length, int) and length for length in shape[1:]) and lengths.count(_INFERRED) == 1:
        node.become.Reshape(node.input(0), node.op.int64(lengths))
