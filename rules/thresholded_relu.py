"""ThresholdedRelu came with opset 10: below, it is a comparison and a Where; old exporters wrote it all the same.

https://onnx.ai/onnx/operators/onnx__ThresholdedRelu.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import adopt, decompose
from ..rewriter.graph.node import Node
from .shared.adopted import take_as


@adopt("ThresholdedRelu", opset=10)
def take_from_older_opsets(node: Node) -> None:
    """A ThresholdedRelu in a model before opset 10, as exporters of 2017 wrote it, means that of opset 10."""
    take_as(node, "ThresholdedRelu", "alpha")


@decompose("ThresholdedRelu", opset=9)
def keep_what_is_above(node: Node) -> None:
    """Elements above alpha are kept, others become 0. Halves are compared in float, as runtimes do."""
    op, data, kind = node.op, node.input(0), node.need_elem_type()
    is_half = kind in (TensorProto.FLOAT16, TensorProto.BFLOAT16)
    compared = op.Cast(data, to=TensorProto.FLOAT) if is_half else data
    alpha = op.const(node.attr("alpha", 1.0), TensorProto.FLOAT if is_half else kind)
    node.become.Where(op.Greater(compared, alpha), data, op.const(0, kind))
