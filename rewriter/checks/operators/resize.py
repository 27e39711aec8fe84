"""Finds scales and sizes that no Resize can have: both of them, or more or fewer than axes.

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
    axes, scales = node.attr("axes"), node.shape(_SCALES)
    if scales and isinstance(scales[0], int) and scales[0] > 0 and node.has_input(_SIZES):
        yield "it has both scales and sizes"
    for index, name in ((_SCALES, "scales"), (_SIZES, "sizes")):
        lengths = node.shape(index)
        if axes is not None and lengths and isinstance(lengths[0], int) and lengths[0] not in (0, len(axes)):
            yield f"{name} has {lengths[0]} entries for {len(axes)} axes"
