"""Nodes whose results have elements of their operands alone, and of which."""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind, Role, Work


def moved(node: Node) -> list[int]:
    """The operands whose elements come out as they are, beside zeros that a Pad may add; none where the node computes with them."""
    fact = facts.of(node.op_type)
    if fact.kind is not Kind.MOVES or fact.work is not Work.MOVES or node.attr("reduction", "none") != "none":
        return []
    return [index for index in range(len(node.inputs)) if Role.DATA in fact.role(index) and node.has_input(index)]


def adds_zeros(node: Node) -> bool:
    """Whether the node may put zeros beside the elements that it moves."""
    return facts.of(node.op_type).has("fills")
