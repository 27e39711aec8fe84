"""Finds conditions of a Compress that are no vectors.

https://onnx.ai/onnx/operators/onnx__Compress.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks


@checks("Compress")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the rank of the condition."""
    rank = node.rank(1)
    if rank is not None and rank != 1:
        yield f"the condition has rank {rank}, and needs 1"
