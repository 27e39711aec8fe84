"""Counts the nodes that a body becomes when the nodes in it that repeat their own bodies are written out, too."""

from __future__ import annotations

from ...rewriter.errors import NotSimplified
from ...rewriter.graph.node import Node, Subgraph
from .scan_steps import count_of
from .sequence_origin import elements


def nodes_within(body: Subgraph, unknown: int = 1) -> int:
    """The number of nodes in the body that remain when it is written out. What repeats a body in it counts as the nodes of all its
    turns, `unknown` if their number is not known; what has no inputs, such as a Constant, and copies do not count.
    """
    total = 0
    for proto in body.proto.node:
        output = next(filter(None, proto.output), "")
        repeats = output and any(attribute.HasField("g") for attribute in proto.attribute)
        inner = body.maker(output) if repeats else None
        if inner is not None:
            total += sum(_turns(inner, unknown) * nodes_within(graph, unknown) for graph in inner.subgraphs())
        elif proto.input and proto.op_type != "Identity":
            total += 1
    return total


def _turns(node: Node, unknown: int) -> int:
    """How often a node repeats its body; `unknown` where that is not known."""
    if node.op_type == "SequenceMap":
        try:
            return len(elements(node))
        except NotSimplified:
            return unknown
    if node.op_type == "Scan":
        steps = count_of(node)
        return unknown if steps is None else max(steps, 1)
    if node.op_type != "Loop":
        return 1
    count = node.constant(0)
    return max(int(count.reshape(-1)[0]), 1) if count is not None and count.size == 1 else unknown
