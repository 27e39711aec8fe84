"""Operators that some runtimes do not support for bool.

https://onnx.ai/onnx/operators/onnx__GatherND.html, https://onnx.ai/onnx/operators/onnx__Split.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node


@avoid("GatherND of bool", "GatherND", opset=13)
@avoid("Split of bool", "Split", opset=13)
def through_int32(node: Node) -> None:
    """The node works on int32 instead of bool, between two Casts.

    It is exact for all shapes.
    """
    if node.elem_type() != TensorProto.BOOL:
        return
    outputs = node.outputs
    node.set_input(0, node.op.Cast(node.input(0), to=TensorProto.INT32))
    for index, name in enumerate(outputs):
        if name:
            node.after.Cast(node.detach_output(index, "as_int32"), output=name, to=TensorProto.BOOL)
