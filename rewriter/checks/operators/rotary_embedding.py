"""Finds caches of a RotaryEmbedding that do not fit what is rotated.

https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks

_POSITIONS = 3


@checks("RotaryEmbedding")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the ranks and the columns of the caches."""
    shape, rotated = node.shape(0), node.attr("rotary_embedding_dim", 0)
    heads = node.attr("num_heads", 0)
    if not rotated and shape is not None and isinstance(shape[-1], int) and (len(shape) == 4 or heads > 0):
        rotated = shape[-1] if len(shape) == 4 else shape[-1] // heads
    for index, name in ((1, "cos_cache"), (2, "sin_cache")):
        cache, rank = node.shape(index), 2 if node.has_input(_POSITIONS) else 3
        if cache is not None and len(cache) != rank:
            yield f"{name} has rank {len(cache)}, and needs {rank} {'beside' if rank == 2 else 'without'} position_ids"
        elif rotated and cache and isinstance(cache[-1], int) and cache[-1] != rotated // 2:
            yield f"{name} has {cache[-1]} columns for {rotated} rotated elements, which need {rotated // 2}"
