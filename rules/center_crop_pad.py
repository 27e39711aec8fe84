"""CenterCropPad below opset 18, by ONNX's own function body.

https://onnx.ai/onnx/operators/onnx__CenterCropPad.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node


@decompose("CenterCropPad", opset=17, any_version=True)
def sizes_as_int64(node: Node) -> None:
    """The node becomes ONNX's own function body; int32 sizes are cast to int64, which that body needs."""
    if node.need_elem_type(1) == TensorProto.INT32:
        node.set_input(1, node.op.Cast(node.input(1), to=TensorProto.INT64))
    node.expand()
