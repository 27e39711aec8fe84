"""Axes that count from the end. https://onnx.ai/onnx/operators/onnx__Resize.html, https://onnx.ai/onnx/operators/onnx__DFT.html"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Role
from ..shared.axes import add_rank, from_the_front


@avoid("Negative axis", ("DFT", "Resize", "Scatter", "ScatterElements"), opset=11)
def count_from_the_front(node: Node) -> None:
    """The rank is added to negative axes, in attributes and in constant inputs.

    It is exact for all types and lengths. The rank has to be known.
    """
    for attribute in ("axis", "axes"):
        add_rank(node, attribute)
    for index in facts.of(node.op_type).inputs(Role.AXES):
        axes = node.constant(index)
        if axes is not None and (axes < 0).any():
            positive = from_the_front([int(axis) for axis in axes.reshape(-1)], node.need_rank())
            node.set_input(index, node.op.int64(positive if axes.ndim else positive[0]))
