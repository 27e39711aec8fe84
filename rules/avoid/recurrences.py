"""Recurrent operators.

https://onnx.ai/onnx/operators/onnx__LSTM.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node

_OUTPUTS = ("all", "last_hidden", "last_cell")


@avoid("LSTM without all outputs", "LSTM", opset=7)
def state_outputs(node: Node) -> None:
    """All outputs are written out, also those that nothing reads."""
    for index, what in enumerate(_OUTPUTS):
        if not node.has_output(index):
            node.set_output(index, node.fresh_name(what))
