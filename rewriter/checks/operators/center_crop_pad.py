"""Finds shapes of a CenterCropPad with more or fewer entries than axes.

https://onnx.ai/onnx/operators/onnx__CenterCropPad.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks


@checks("CenterCropPad")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the number of entries."""
    lengths, axes = node.shape(1), node.attr("axes")
    count = node.rank(0) if axes is None else len(axes)
    if lengths and count is not None and isinstance(lengths[0], int) and lengths[0] != count:
        yield f"shape has {lengths[0]} entries for {count} axes"
