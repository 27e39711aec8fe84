"""SoftmaxCrossEntropyLoss below opset 12: the loss of a LogSoftmax.

https://onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING

_LOG_PROBABILITIES = 1
"""The position of the output with the log probabilities."""


@decompose("SoftmaxCrossEntropyLoss", opset=13, exact=False)
def loss_of_log_softmax(node: Node) -> None:
    """The node becomes LogSoftmax and NegativeLogLikelihoodLoss, or, for bfloat16, which the latter lacks, ONNX's function body."""
    if node.need_elem_type() not in FLOATING:
        node.expand()
        return
    named = node.output(_LOG_PROBABILITIES)
    log_probabilities = node.op.LogSoftmax(node.input(0), output=named, axis=1)
    if named:
        node.drop_output(_LOG_PROBABILITIES)
    node.become.NegativeLogLikelihoodLoss(
        log_probabilities, *node.inputs[1:], ignore_index=node.attr("ignore_index"), reduction=node.attr("reduction")
    )
