"""Conv and MatMul between DequantizeLinear and QuantizeLinear, as QLinearConv and QLinearMatMul; what moves numbers moves integers.

The operators add products of integers, which they scale once; real numbers are scaled before. So a result that lies in the middle
between two steps, or nearly so, may be one step apart.
https://onnx.ai/onnx/operators/onnx__QLinearConv.html, https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import respell
from ...rewriter.graph.node import Node
from ..shared import between_scales
from ..shared.quantized import Quantized, are_moved, comes_back
from ..shared.spelled_out import local
from ..shared.windows import CONVOLUTION, attributes_of

_MATRIX = 2
"""The rank of weights that may have a scale for each column."""
_MOVES_ALL_TYPES = 13
"""The opset from which on all operators that only move numbers move 8-bit integers."""


@respell("QuantizeLinear", opset=10, steps=True)
def convolution(node: Node) -> None:
    """A Conv of dequantized x and weights, whose result is quantized, becomes a QLinearConv."""
    found = between_scales.product(node, "Conv", lambda conv: 0)
    bias = None if found is None else between_scales.bias(node, found)
    if found is None or bias is None:
        return
    operands = between_scales.inputs(node, found.left, found.right) + between_scales.inputs(node, found.made)[1:]
    node.become.QLinearConv(*operands, *([bias] if bias else []), **attributes_of(found.by, CONVOLUTION))


@respell("QuantizeLinear", opset=10, steps=True)
def product(node: Node) -> None:
    """A MatMul of dequantized matrices, whose result is quantized, becomes a QLinearMatMul."""
    found = between_scales.product(node, "MatMul", lambda matmul: 1 if matmul.rank(1) == _MATRIX else None)
    if found is not None:
        operands = between_scales.inputs(node, found.left, found.right) + between_scales.inputs(node, found.made)[1:]
        node.become.QLinearMatMul(*operands)


@respell("QuantizeLinear", opset=13, exact=True)
def moved(node: Node) -> None:
    """A node that only moves dequantized integers, or chooses among them, moves the integers, if they are quantized as before."""
    if node.target < _MOVES_ALL_TYPES:
        return
    made, mover = between_scales.result(node), local(node, node.input(0))
    x = None if mover is None or not are_moved(mover) else between_scales.operand(node, mover.input(0))
    if made is None or mover is None or x is None or not node.graph.is_read_once(node.input(0)):
        return
    others = [name for name in mover.inputs[1:] if name and mover.elem_type(name) == TensorProto.FLOAT]
    if others or x.kind != made.kind or not _are_one(node, x, made) or not comes_back(node, made.scale):
        return
    attributes = {attribute.name: mover.attr(attribute.name) for attribute in mover.proto.attribute}
    getattr(node.become, mover.op_type)(x.data, *mover.inputs[1:], opset=mover.opset, **attributes)


def _are_one(node: Node, one: Quantized, other: Quantized) -> bool:
    """Whether two values have the same constant scale and zero point."""
    pairs = [(one.scale, other.scale)] + ([(one.zero, other.zero)] if one.zero or other.zero else [])
    return all(left == right or _are_equal(node, left, right) for left, right in pairs)


def _are_equal(node: Node, left: str, right: str) -> bool:
    """Whether two constants of one element are equal; "" stands for 0."""
    values = [node.constant(name) if name else 0 for name in (left, right)]
    return all(value is not None for value in values) and values[0] == values[1]
