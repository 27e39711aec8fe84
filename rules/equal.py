"""Equal: opset 11 adds floating-point numbers, opset 19 strings.

https://onnx.ai/onnx/operators/onnx__Equal.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import downgrade
from ..rewriter.graph.node import Node
from .shared.typed import FLOATING, are_numbers, is_unequal


@downgrade("Equal", 19)
def equal_strings(node: Node) -> None:
    """Unique numbers the strings, and the numbers are compared: before opset 19, Equal does not support strings."""
    op = node.op
    if node.need_elem_type() != TensorProto.STRING:
        return
    flat = [op.Reshape(name, op.int64([-1])) for name in node.inputs]
    both = op.Concat(*flat, axis=0)
    numbers = op.Unique(both, outputs=[node.fresh_name("unique"), "", node.fresh_name("numbers")])[2]
    first = op.Size(node.input(0))
    first = op.Reshape(first, op.int64([1]))
    start, end = op.int64([0]), op.int64([np.iinfo(np.int64).max])
    parts = [op.Slice(numbers, *bounds) for bounds in ((start, first), (first, end))]
    node.become.Equal(*([_in_shape(node, part, index) for index, part in enumerate(parts)]))


def _in_shape(node: Node, flat: str, index: int) -> str:
    """The vector `flat` in the shape of input `index`, even if a dimension is 0."""
    op = node.op
    shape = node.shape(index)
    if shape is not None and len(shape) == 1:
        return flat
    known = [dim for dim in shape or () if isinstance(dim, int) and dim]
    if shape is not None and len(known) == len(shape):
        return op.Reshape(flat, op.int64(known))
    sizes = op.Shape(node.input(index))
    return op.Reshape(flat, sizes, allowzero=1)


@downgrade("Equal", 11)
def equal_numbers(node: Node) -> None:
    """Two floating-point numbers are equal where none is less, none is greater, and none is NaN."""
    if node.need_elem_type() not in FLOATING:
        return
    a, b = node.inputs
    differ = is_unequal(node, a, b)
    comparable = are_numbers(node, a, b)
    node.become.And(node.op.Not(differ), comparable)
