"""Optional outputs that nothing reads, at which some runtimes fail though they need not compute them."""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node

_WITH_OPTIONAL = ("Dropout", "LayerNormalization", "MaxPool")
"""Operators whose outputs behind the first are optional."""


@avoid("Optional output that nothing reads", _WITH_OPTIONAL, opset=7)
def leave_out(node: Node) -> None:
    """Outputs behind the first are left out if nothing reads them.

    It is exact for all types. Outputs that are read stay.
    """
    for index in range(len(node.outputs) - 1, 0, -1):
        if node.has_output(index) and not node.is_read(index):
            node.drop_output(index)
