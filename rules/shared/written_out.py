"""Counts the nodes that a body becomes when the nodes in it that repeat their own bodies are written out, too."""

from __future__ import annotations

from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Subgraph
from .sequence_origin import elements


def nodes_within(body: Subgraph) -> int:
    """The number of nodes in the body; a Loop or SequenceMap in it counts as all its turns, as far as their number is known."""
    total = len(body.proto.node)
    for proto in body.proto.node:
        output = next(filter(None, proto.output), "")
        inner = body.maker(output) if output and any(attribute.HasField("g") for attribute in proto.attribute) else None
        if inner is not None:
            total += sum(_turns(inner) * nodes_within(graph) for graph in inner.subgraphs())
    return total


def _turns(node: Node) -> int:
    """How often a node repeats its body; 1 where that is not known."""
    if node.op_type == "SequenceMap":
        try:
            return len(elements(node))
        except NotSimplified:
            return 1
    count = node.constant(0) if node.op_type == "Loop" else None
    return max(int(count.reshape(-1)[0]), 1) if count is not None and count.size == 1 else 1
