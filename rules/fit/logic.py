"""Logical operators in terms of arithmetic.

https://onnx.ai/onnx/operators/onnx__And.html, https://onnx.ai/onnx/operators/onnx__Or.html,
https://onnx.ai/onnx/operators/onnx__Xor.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node


def _as_floats(node: Node) -> list[str]:
    return [node.op.Cast(name, to=TensorProto.FLOAT) for name in node.inputs]


def _is_positive(node: Node, value: str) -> None:
    node.become.Greater(value, node.op.const(0, TensorProto.FLOAT))


@express("And", opset=13)
def product_of_ones(node: Node) -> None:
    """The product of both operands as floats is greater than 0."""
    _is_positive(node, node.op.Mul(*_as_floats(node)))


@express("Or", opset=13)
def sum_of_ones(node: Node) -> None:
    """The sum of both operands as floats is greater than 0."""
    _is_positive(node, node.op.Add(*_as_floats(node)))


@express("Xor", opset=13)
def square_of_the_difference(node: Node) -> None:
    """The square of the difference between both operands as floats is greater than 0."""
    difference = node.op.Sub(*_as_floats(node))
    _is_positive(node, node.op.Mul(difference, difference))


@express("Equal", opset=13)
def the_truth_itself(node: Node) -> None:
    """What is compared with a stored truth is the result; what is compared with a stored falsehood becomes a Not."""
    for index in (0, 1):
        stored, other = node.constant(index), node.rank(1 - index)
        if node.elem_type() != TensorProto.BOOL or stored is None or stored.size != 1 or other is None or stored.ndim > other:
            continue
        if stored.item():
            node.give(node.input(1 - index))
        else:
            node.become.Not(node.input(1 - index))
        return
