"""Finds scales, zero points and blocks that no DequantizeLinear can have.

https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ..registry import checks
from ..scales import scale_problems


@checks("DequantizeLinear")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the scale, the zero point and the blocks."""
    yield from scale_problems(node)
