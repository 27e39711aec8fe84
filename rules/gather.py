"""Gather: indices may be negative from opset 11 on.

https://onnx.ai/onnx/operators/onnx__Gather.html
"""

from __future__ import annotations

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.axes import add_rank
from .shared.indices import is_never_negative, length, wrapped


@downgrade("Gather", 11)
def indices_from_the_front(node: Node) -> None:
    """The length of the axis is added to indices that are, or may be, negative."""
    add_rank(node, "axis")
    indices = node.constant(1)
    if indices is None:
        if not is_never_negative(node, node.input(1)):
            _wrap(node)
        return
    if not (indices < 0).any():
        return
    dimension = node.dimension(node.attr("axis", 0))
    if isinstance(dimension, int):
        positive = indices + (indices < 0).astype(indices.dtype) * indices.dtype.type(dimension)
        node.set_input(1, node.op.const(positive, indices.dtype))
    else:
        _wrap(node)


def _wrap(node: Node) -> None:
    """Add the length of the axis to negative indices at run time."""
    size = length(node, node.input(0), node.attr("axis", 0), "scalar")
    node.set_input(1, wrapped(node, node.input(1), node.need_elem_type(1), size))
