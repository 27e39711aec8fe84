"""Reshapes that do no work when the model runs, and at which onnxruntime stops to move a Transpose.

Its optimizer moves Transposes towards the outputs before it looks for normalizations and for products of transposed matrices, of
which it then finds some no longer. It does not move one past a Reshape, unless all sizes are known and the rank stays.
"""

from __future__ import annotations

from ...rewriter.graph.node import Node


def fenced(node: Node, name: str, rank: int) -> str:
    """`name` behind a Reshape to the shape that it has."""
    return node.op.Reshape(name, node.op.int64([0] * rank))


def is_transposed(node: Node, name: str) -> bool:
    """Whether a Transpose makes `name`."""
    producer = node.scope.producer(name)
    return producer is not None and producer.op_type == "Transpose" and not producer.domain
