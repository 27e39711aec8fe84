"""Operators that draw random numbers from a seed: each node of them goes on where it stopped, and a copy begins anew.

https://onnx.ai/onnx/operators/onnx__RandomUniform.html
"""

from __future__ import annotations

from collections.abc import Iterable

from onnx import NodeProto

from ...rewriter.graph.node import Subgraph


def repeats_draws(body: Subgraph, copies: int) -> bool:
    """Whether so many copies of the body, in place of one that runs as often, would draw the same numbers again and again."""
    return copies > 1 and _have_seeds(body.proto.node)


def _have_seeds(nodes: Iterable[NodeProto]) -> bool:
    """Whether a node, also in a body within, has a seed."""
    attributes = [attribute for node in nodes for attribute in node.attribute]
    return any(each.name == "seed" or (each.HasField("g") and _have_seeds(each.g.node)) for each in attributes)
