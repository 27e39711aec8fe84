"""Softmax and LogSoftmax for runtimes that allow one axis only, or the elementary functions.

https://onnx.ai/onnx/operators/onnx__Softmax.html, https://onnx.ai/onnx/operators/onnx__LogSoftmax.html
"""

from __future__ import annotations

from ...rewriter.engine.registry import express
from ...rewriter.graph.node import Node


@express(("Softmax", "LogSoftmax"), opset=13)
def over_the_last_axis(node: Node) -> None:
    """A Transpose before the node moves the axis to the end, and one after it moves it back."""
    rank = node.need_rank()
    axis = node.attr("axis", -1) % rank if rank else 0
    if node.opset < 13 or axis >= rank - 1:
        return
    _with_axis_at(node, axis, rank - 1, rank)


@express(("Softmax", "LogSoftmax"), opset=13)
def over_the_channels(node: Node) -> None:
    """A Transpose before the node moves the axis to the place of the channels, and one after it moves it back."""
    rank = node.need_rank()
    axis = node.attr("axis", -1) % rank if rank else 0
    if node.opset < 13 or axis == 1 or rank < 2:
        return
    _with_axis_at(node, axis, 1, rank)


def _with_axis_at(node: Node, axis: int, place: int, rank: int) -> None:
    """Move an axis to `place` before the node, which works over that then, and back behind the node."""
    perm = [other for other in range(rank) if other != axis]
    perm.insert(place, axis)
    moved = node.op.Transpose(node.input(0), perm=perm)
    found = getattr(node.op, node.op_type)(moved, axis=place - rank if place == rank - 1 else place)
    node.become.Transpose(found, perm=[perm.index(other) for other in range(rank)])


@express("LogSoftmax", opset=13, exact=False)
def logarithm_of_softmax(node: Node) -> None:
    """The node becomes the difference of the data and the logarithm of the sum of its exponentials, shifted by the maximum."""
    if node.opset < 13:
        return
    op, axis = node.op, node.attr("axis", -1)
    shifted = op.Sub(node.input(0), op.ReduceMax(node.input(0), axes=[axis], keepdims=1))
    total = op.ReduceSum(op.Exp(shifted), op.int64([axis]), keepdims=1)
    node.become.Sub(shifted, op.Log(total))


@express("Softmax", opset=13, exact=False)
def in_elementary_functions(node: Node) -> None:
    """The node becomes the exponentials, shifted by the maximum, divided by their sum."""
    if node.opset < 13:
        return
    op, axis = node.op, node.attr("axis", -1)
    shifted = op.Sub(node.input(0), op.ReduceMax(node.input(0), axes=[axis], keepdims=1))
    powers = op.Exp(shifted)
    node.become.Div(powers, op.ReduceSum(powers, op.int64([axis]), keepdims=1))
