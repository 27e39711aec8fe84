"""Concat of what no node makes. https://onnx.ai/onnx/operators/onnx__Concat.html"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node


@avoid("Concat of an input of the model and a stored value", "Concat", opset=7)
def copy_inputs(node: Node) -> None:
    """An Identity goes between an input of the model and the node.

    It is exact for all types.
    """
    names = node.inputs
    if all(node.constant(name) is None for name in names):
        return
    for position, name in enumerate(names):
        if node.graph.is_input(name) and node.constant(name) is None:
            node.set_input(position, node.keep(node.op.Identity(name)))
