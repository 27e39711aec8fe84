"""Operands of elementwise operators in another order or shape.

The page of each is https://onnx.ai/onnx/operators/onnx__NAME.html; https://onnx.ai/onnx/repo-docs/Broadcasting.html
"""

from __future__ import annotations

from math import prod

import numpy as np

from ...rewriter.engine.registry import ITSELF, express
from ...rewriter.graph.node import Node
from ..shared.broadcasting import SPREADS_BOTH

_COMMUTATIVE = ("Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max", "Min", "Mul", "Or", "Xor")
_BROADCAST = (*_COMMUTATIVE, "Div", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "PRelu", "Pow", "Sub", "Where")


@express(_BROADCAST, opset=13, listed=ITSELF)
def scalars_as_vectors(node: Node) -> None:
    """Stored scalars become vectors of one, beside an operand that has dimensions."""
    values = {index: node.constant(index) for index in range(len(node.inputs)) if node.rank(index) == 0}
    if node.opset < SPREADS_BOTH or not any(node.rank(index) for index in range(len(node.inputs))):
        return
    for index, value in values.items():
        if value is not None:
            node.set_input(index, node.op.const(np.reshape(value, 1), value.dtype))


_MOST_STORED = 2**20
"""The number of elements up to which a stored operand may be repeated."""


@express(_BROADCAST, opset=13, listed=ITSELF)
def stored_in_full(node: Node) -> None:
    """A stored operand of floats is repeated to the shape of the result."""
    shape = node.need_shape(node.output(0))
    if node.opset < SPREADS_BOTH or not 0 < prod(shape) <= _MOST_STORED:
        return
    for index in range(len(node.inputs)):
        value = node.constant(index) if node.shape(index) != shape else None
        if value is not None and value.dtype.kind == "f" and not (node.op_type == "PRelu" and index == 0):
            node.set_input(index, node.op.const(np.ascontiguousarray(np.broadcast_to(value, shape)), value.dtype))


@express(_BROADCAST, opset=13, listed=ITSELF)
def expanded_before(node: Node) -> None:
    """An operand that the node spreads along some axes is expanded before."""
    shape = node.need_shape(node.output(0))
    if node.opset < SPREADS_BOTH or 0 in shape:
        return
    for index in range(len(node.inputs)):
        if node.constant(index) is None and node.need_shape(index) != shape:
            node.set_input(index, node.op.Expand(node.input(index), node.op.int64([*shape])))


@express(_COMMUTATIVE, opset=13, listed=ITSELF)
def swapped(node: Node) -> None:
    """The two operands change places."""
    if node.opset >= SPREADS_BOTH and len(node.inputs) == 2 and node.input(0) != node.input(1):
        first, second = node.inputs
        node.set_input(0, second)
        node.set_input(1, first)


@express("Greater", opset=13)
def less_in_the_other_order(node: Node) -> None:
    """The operands of a Greater change places in a Less."""
    if node.opset >= SPREADS_BOTH:
        node.become.Less(node.input(1), node.input(0))


@express("Less", opset=13)
def greater_in_the_other_order(node: Node) -> None:
    """The operands of a Less change places in a Greater."""
    if node.opset >= SPREADS_BOTH:
        node.become.Greater(node.input(1), node.input(0))
