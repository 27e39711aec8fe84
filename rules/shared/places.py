"""Recognizes numbers that are places along an axis, which are small and not negative."""

from __future__ import annotations

from ...rewriter.graph.node import Node

LARGEST = 2**22
"""Places below this number, and their quotients, are exact in float32 before they are rounded down."""
_MOVES = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
_DEEPEST = 6
"""The number of nodes between the node that finds places and the one that computes with them."""


def are_places(node: Node, name: str, depth: int = _DEEPEST) -> bool:
    """Whether the value holds places along an axis of known length that an ArgMax or ArgMin found, perhaps in another shape."""
    maker = node.maker(name)
    if maker is None or not depth:
        return False
    if maker.op_type in ("ArgMax", "ArgMin"):
        length = maker.dimension(maker.attr("axis", 0))
        return isinstance(length, int) and length < LARGEST
    return maker.op_type in _MOVES and are_places(maker, maker.input(0), depth - 1)
