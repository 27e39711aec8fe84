"""Recognizes numbers that are places along an axis, which are small and not negative."""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind

LARGEST = 2**22
"""Places below this number, and their quotients, are exact in float32 before they are rounded down."""
_DEEPEST = 6
"""The number of nodes between the node that finds places and the one that computes with them."""


def are_places(node: Node, name: str, depth: int = _DEEPEST) -> bool:
    """Whether the value holds places along an axis of known length that an ArgMax or ArgMin found, perhaps in another shape."""
    maker = node.maker(name)
    if maker is None or not depth:
        return False
    fact = facts.of(maker.op_type)
    if fact.kind is Kind.REDUCES and fact.has("sorts"):
        length = maker.dimension(maker.attr("axis", 0))
        return isinstance(length, int) and length < LARGEST
    return (fact.has("only-reshapes") or fact.word("merges") == "transposes") and are_places(maker, maker.input(0), depth - 1)
