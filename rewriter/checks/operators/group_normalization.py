"""Finds types in which no GroupNormalization can compute.

https://onnx.ai/onnx/operators/onnx__GroupNormalization.html
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import TensorProto

from ...graph.node import Node
from ..registry import checks

_PRECISIONS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)
"""The types in which a GroupNormalization may compute its mean and variance."""


@checks("GroupNormalization")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with `stash_type`."""
    stash = node.attr("stash_type", TensorProto.FLOAT)
    if stash not in _PRECISIONS:
        yield f"stash_type is {stash}, which is not a floating-point type"
