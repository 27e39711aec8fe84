"""Scales and zero points of QuantizeLinear and DequantizeLinear: one number, or one for each index of an axis, or for each block.

https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .axes import from_the_front
from .indices import count_up, length
from .rounding import FLOAT8


def require_finite_scale(node: Node, index: int) -> None:
    """Raises Unconvertible where input `index`, a scale, is known and not finite: its quotients are not numbers."""
    known = node.constant(index)
    if known is not None and not np.isfinite(known.astype(np.float64)).all():
        raise Unconvertible(f"the scale '{node.input(index)}' is not finite", "correct the model")


def along_axis(node: Node, index: int) -> str:
    """Input `index`, with one number or one for each index of the axis, in a shape that broadcasts to x."""
    name = node.input(index)
    if node.need_rank(index) == 0:
        return name
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", 1)], rank)
    if rank == 1 or axis == rank - 1 or node.shape(index) == (1,):
        return name
    return node.op.Reshape(name, node.op.int64([-1] + [1] * (rank - 1 - axis)))


def of_each_index(node: Node, name: str, axis: int, block: int) -> str:
    """`name`, with a number for each block of `block` elements of x along `axis`, repeated for each element."""
    return node.op.Gather(name, _blocks(node, axis, block), axis=axis)


def _blocks(node: Node, axis: int, block: int) -> str:
    """The number of its block, as int64, for each index of x along `axis`."""
    op = node.op
    size = node.dimension(axis)
    if isinstance(size, int):
        return op.int64([index // block for index in range(size)])
    x = node.input(0)
    if node.need_elem_type() in FLOAT8:
        x = op.Cast(x, to=TensorProto.FLOAT)  # runtimes do not say the shape of such values
    indices = count_up(node, op.int64([0]), length(node, x, axis), op.int64([1]))
    return op.Div(indices, op.int64(block))
