"""Operators that draw random numbers from a seed: each node of them goes on where it stopped, and a copy begins anew.

https://onnx.ai/onnx/operators/onnx__RandomUniform.html
"""

from __future__ import annotations

from ...rewriter.graph.node import Subgraph


def repeats_draws(body: Subgraph, copies: int) -> bool:
    """Whether so many copies of the body, in place of one that runs as often, would draw the same numbers again and again."""
    return copies > 1 and any(each.name == "seed" for node in body.nodes_that_run() for each in node.attribute)
