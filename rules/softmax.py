"""Softmax, LogSoftmax and Hardmax work on all dimensions from axis (default 1) on until opset 12, and along axis (default -1) from
13 on.

https://onnx.ai/onnx/operators/onnx__Softmax.html (Softmax-11, Softmax-13), https://onnx.ai/onnx/operators/onnx__LogSoftmax.html,
https://onnx.ai/onnx/operators/onnx__Hardmax.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front, require_axis
from .shared.flattening import become_reshape

OPERATORS = ("Softmax", "LogSoftmax", "Hardmax")
_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)


@upgrade(OPERATORS, 13)
def along_one_axis(node: Node) -> None:
    """The dimensions from axis on are flattened and restored afterwards; if only one of them is not 1, only axis changes."""
    axis, shape = node.attr("axis", 1), node.shape()
    if axis == -1:
        return
    _allow_for_kernels(node)
    if shape is not None:
        (first,) = from_the_front([axis], len(shape))
        longer = [index for index in range(first, len(shape)) if shape[index] != 1]
        if len(longer) <= 1 and first < len(shape):
            node.set_attr("axis", longer[0] if longer else first)
            return
    _flatten(node, axis)


def _allow_for_kernels(node: Node) -> None:
    """Mark a Softmax of 16-bit floats as approximate: whether onnxruntime computes it in float depends on the opset."""
    node.approximate = node.op_type != "Hardmax" and node.elem_type() in _NARROW


def _flatten(node: Node, axis: int) -> None:
    """Turn the data into a matrix by Flatten, and reshape the result."""
    data = node.input(0)
    flat = node.op.Flatten(data, axis=axis)
    normalized = getattr(node.op, node.op_type)(flat, axis=1)
    become_reshape(node, normalized, data, flattened_from=axis)


@downgrade(OPERATORS, 13)
def over_the_last_dimensions(node: Node) -> None:
    """An axis that is followed only by dimensions of 1 stays; any other axis is swapped with the last one by Transposes."""
    axis = node.attr("axis", -1)
    _allow_for_kernels(node)
    if axis == -1:
        node.set_attr("axis", -1)
        return
    rank = node.need_rank()
    shape = node.shape() or (None,) * rank  # the rank may be worked out where the shape was not inferred
    require_axis(axis, rank)
    axis %= rank
    node.set_attr("axis", axis)
    if any(dim != 1 for dim in shape[axis + 1 :]):
        _swap_with_last(node, axis, rank)


def _swap_with_last(node: Node, axis: int, rank: int) -> None:
    """Transpose the input and the output, so that `axis` is the last axis for the node."""
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    node.set_input(0, node.op.Transpose(node.input(0), perm=order))
    node.set_attr("axis", rank - 1)
    output = node.output(0)
    inner = node.detach_output(0, "normalized")
    node.after.Transpose(inner, output=output, perm=order)
