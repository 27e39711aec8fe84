"""Flatten below opset 9, which takes floating-point numbers only.

https://onnx.ai/onnx/operators/onnx__Flatten.html
"""

from __future__ import annotations

from math import prod

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING


@downgrade("Flatten", 9)
def reshape_other_types(node: Node) -> None:
    """A Flatten of integers, booleans or text becomes a Reshape, which moves any type. Its shape, or the axis, has to be simple."""
    target = _target(node)
    if node.elem_type() not in (None, *FLOATING) and target is not None:
        node.become.Reshape(node.input(0), node.op.int64(target))


def _target(node: Node) -> list[int] | None:
    """The shape to which the data is reshaped; None where it depends on lengths that are not known."""
    axis, rank = node.attr("axis", 1), node.rank()
    before, after = (node.shape() or (None,))[:axis], (node.shape() or (None,))[axis:]
    if rank is None:
        return None
    known = [[dim for dim in part if isinstance(dim, int)] for part in (before, after)]
    if len(known[0]) == len(before):
        rest = -1 if prod(known[0]) else prod(known[1])  # of nothing, -1 could be any length
        return [prod(known[0]), rest] if rest == -1 or len(known[1]) == len(after) else None
    if len(known[1]) == len(after) and prod(known[1]):
        return [-1, prod(known[1])]
    return None
