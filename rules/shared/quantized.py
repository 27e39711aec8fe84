"""Values of 8-bit operators as real numbers, and back: DequantizeLinear and QuantizeLinear.

https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html, https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind

EIGHT_BITS: Mapping[int, tuple[int, int]] = {TensorProto.UINT8: (0, 255), TensorProto.INT8: (-128, 127)}
"""The types of 8-bit integers, with their least and greatest number."""
_USUAL = (1e-30, 1e30)
"""The scales that give each 8-bit number back after it was dequantized and quantized in float."""


class Quantized(NamedTuple):
    """A value in integers: the names of these, of their scale, and of their zero point ("" for 0), and their element type."""

    data: str
    scale: str
    zero: str
    kind: int


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


def of_each(node: Node, index: int) -> int | None:
    """How many numbers input `index`, a scale or a zero point, has if it is known to be a vector of several; 0 if it has one, and
    None if that is not known.
    """
    shape = node.shape(index)
    if shape is None or len(shape) > 1:
        return None
    length = shape[0] if shape else 1
    return (length if length != 1 else 0) if isinstance(length, int) else None


def are_moved(node: Node) -> bool:
    """Whether the node only moves or chooses elements of its first input, so that it does the same to integers and real numbers.

    Of those that choose, MaxPool alone takes integers of 8 bits.
    """
    fact = facts.of(node.op_type)
    return (fact.kind is Kind.MOVES or node.op_type == "MaxPool") and not fact.has("fills") and len(node.outputs) == 1


def comes_back(node: Node, scale: str) -> bool:
    """Whether 8-bit integers, dequantized and quantized by the constant `scale`, are what they were."""
    value = node.constant(scale)
    least, most = _USUAL
    return value is not None and value.dtype == np.float32 and value.size == 1 and least < value.item() < most
