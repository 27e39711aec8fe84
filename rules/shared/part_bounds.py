"""Takes one part of data that is cut into parts of sizes which are only known at run time.

https://onnx.ai/onnx/operators/onnx__SplitToSequence.html, https://onnx.ai/onnx/operators/onnx__SequenceAt.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node


def as_int64(node: Node, name: str) -> str:
    """`name`, an int32 or int64 value, as int64."""
    if node.elem_type(name) == TensorProto.INT64:
        return name
    return node.op.Cast(name, to=TensorProto.INT64)


def slice_at(node: Node, data: str, axis: int, sizes: str) -> None:
    """Turn a SequenceAt into a Slice of `data` that starts at the sum of the `sizes` (an int64 vector) before its position.

    The sizes before position i are `sizes[:i]`, for negative positions too; and Gather fails for a position out of range, as
    SequenceAt does.
    """
    op = node.op
    at, zero = _position(node), op.int64([0])
    start, end = zero, op.Gather(sizes, at, axis=0)
    if at != zero:
        before = op.Slice(sizes, zero, at, zero)
        start = op.ReduceSum(before, keepdims=1)
        end = op.Add(start, end)
    node.become.Slice(data, start, end, op.int64([axis]))


def _position(node: Node) -> str:
    """The position of a SequenceAt as an int64 vector of one."""
    op = node.op
    constant = node.constant(1)
    if constant is not None:
        return op.int64(constant.reshape(-1).tolist())
    return op.Reshape(as_int64(node, node.input(1)), op.int64([1]))
