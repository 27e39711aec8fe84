"""ThresholdedRelu before opset 10, where ONNX did not have it yet.

https://onnx.ai/onnx/operators/onnx__ThresholdedRelu.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import adopt
from ..rewriter.graph.node import Node
from .shared.adopted import take_as


@adopt("ThresholdedRelu", opset=10)
def take_from_older_opsets(node: Node) -> None:
    """A ThresholdedRelu in a model before opset 10, as exporters of 2017 wrote it, means that of opset 10."""
    take_as(node, "ThresholdedRelu", "alpha")
