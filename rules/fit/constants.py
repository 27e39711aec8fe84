"""Constant nodes as stored values.

https://onnx.ai/onnx/operators/onnx__Constant.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node


@express("Constant", opset=13)
def stored(node: Node) -> None:
    """The value becomes an initializer, where the graph takes any."""
    if not node.graph.takes_initializers:
        return
    tensor, value = TensorProto(), node.attr("value")
    if isinstance(value, TensorProto):
        tensor.CopyFrom(value)
        tensor.name = node.fresh_name("value")
        node.forward(0, node.add_tensor(tensor))
    else:
        array = node.constant(node.output(0))
        if array is None:
            return
        node.forward(0, node.op.const(array, array.dtype))
    node.remove()
