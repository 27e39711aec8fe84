"""Finds scales, zero points, blocks and output types that no QuantizeLinear can have.

https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.node import Node
from ...opsets.type_protos import elem_type_name
from ..registry import checks
from ..scales import BLOCKS_FROM, ZERO_POINT, scale_problems


@checks("QuantizeLinear")
def problems(node: Node) -> Iterator[str]:
    """Yield what is wrong with the scale, the zero point, the blocks and the type of the output."""
    yield from scale_problems(node)
    kind, stated = node.elem_type(ZERO_POINT), node.attr("output_dtype", 0)
    if node.opset >= BLOCKS_FROM and kind and stated not in (0, kind):
        yield f"output_dtype is {elem_type_name(stated)} and the zero point {elem_type_name(kind)}"
