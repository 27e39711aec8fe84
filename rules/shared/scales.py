"""Scales and zero points of QuantizeLinear and DequantizeLinear: one number, or one for each index of an axis."""

from __future__ import annotations

from ...rewriter.graph.node import Node
from .axes import from_the_front


def along_axis(node: Node, index: int) -> str:
    """Input `index`, which holds one number, or one for each index of the axis, in a shape that broadcasts to x."""
    name = node.input(index)
    if node.need_rank(index) == 0:
        return name
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", 1)], rank)
    if rank == 1 or axis == rank - 1 or node.shape(index) == (1,):
        return name
    return node.op.Reshape(name, node.op.int64([-1] + [1] * (rank - 1 - axis)))
