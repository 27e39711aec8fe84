"""Negative axes came with opset 11: below it, the rank is added.

https://onnx.ai/onnx/operators/ (each operator's changelog: "Negative value means counting dimensions from the back" since 11).
"""

from __future__ import annotations

from ..rewriter.graph import Node


def add_rank(node: Node, attribute: str, *, index: int = 0, extra: int = 0) -> None:
    """Make the axis or axes in `attribute` count from the front of input `index`; `extra` is added to its rank.

    Raises Unconvertible where one is negative and the rank is unknown.
    """
    value = node.attr(attribute)
    axes = value if isinstance(value, list) else [value]
    if value is None or all(axis >= 0 for axis in axes):
        return
    rank = node.need_rank(index) + extra
    positive = [axis + rank if axis < 0 else axis for axis in axes]
    node.set_attr(attribute, positive if isinstance(value, list) else positive[0])
