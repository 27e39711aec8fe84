"""Operators that some runtimes do not support for bool, and constants of type bool.

https://onnx.ai/onnx/operators/onnx__GatherND.html, https://onnx.ai/onnx/operators/onnx__Split.html,
https://onnx.ai/onnx/operators/onnx__Where.html
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


@avoid("Where by a constant condition", "Where", opset=9)
def compare_at_run_time(node: Node) -> None:
    """The condition becomes a comparison of a float constant with 0.

    It is exact for all types and shapes.
    """
    condition, maker = node.constant(0), node.maker(0)
    if condition is None or (maker is not None and maker.op_type == "Greater" and maker.elem_type(0) == TensorProto.FLOAT):
        return
    op = node.op
    node.set_input(0, node.keep(op.Greater(op.const(condition, TensorProto.FLOAT), op.const(0, TensorProto.FLOAT))))
