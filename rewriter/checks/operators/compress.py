"""Finds a Compress of a scalar, or with a condition that is no vector.

https://onnx.ai/onnx/operators/onnx__Compress.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks


@checks("Compress")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the ranks of data and condition."""
    if node.rank(0) == 0:
        yield "the data is a scalar, and needs rank 1 or more"
    rank = node.rank(1)
    if rank is not None and rank != 1:
        yield f"the condition has rank {rank}, and needs 1"
