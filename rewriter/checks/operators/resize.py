"""Finds nodes that no Resize can be: those with both scales and sizes.

https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks

_SCALES, _SIZES = 2, 3


@checks("Resize")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the inputs that say how large the result is."""
    scales = node.shape(_SCALES)
    if scales and isinstance(scales[0], int) and scales[0] > 0 and node.has_input(_SIZES):
        yield "it has both scales and sizes"
