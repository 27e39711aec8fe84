"""Values of 8-bit operators as real numbers, and back: DequantizeLinear and QuantizeLinear with one scale."""

from __future__ import annotations

import numpy as np

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


def scalar(node: Node, index: int) -> str:
    """Input `index`, a scale or a zero point, without dimensions: onnxruntime takes a vector of one element, too."""
    name = node.input(index)
    if node.rank(index) == 0:
        return name
    value = node.constant(index)
    if value is not None:
        if value.size != 1:
            raise Unconvertible(f"'{name}' has {value.size} elements, and {node.op_type} takes one for all", "correct the model")
        return node.op.const(value.reshape(()), node.need_elem_type(index))
    return node.op.Reshape(name, node.op.int64([]))


def dequantized(node: Node, data: int, scale: int, zero: int) -> str:
    """Input `data` as real numbers. An absent zero point is 0."""
    zeros = [scalar(node, zero)] if node.has_input(zero) else []
    return node.op.DequantizeLinear(node.input(data), scalar(node, scale), *zeros)


def quantized(node: Node, value: str, scale: int, zero: int, kind: int) -> str:
    """`value` in 8 bits, of element type `kind`. An absent zero point is 0."""
    point = scalar(node, zero) if node.has_input(zero) else node.op.const(np.zeros(()), kind)
    return node.op.QuantizeLinear(value, scalar(node, scale), point)
