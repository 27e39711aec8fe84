"""One part of what is cut into parts of sizes that are only known at run time.

https://onnx.ai/onnx/operators/onnx__SplitToSequence.html, https://onnx.ai/onnx/operators/onnx__SequenceAt.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.graph.node import Node
from .indices import int64


def as_int64(node: Node, name: str) -> str:
    """`name`, an int32 or int64, as int64."""
    if node.scope.elem_type(name) == TensorProto.INT64:
        return name
    return node.before("Cast", [name], what="int64", to=TensorProto.INT64)


def slice_at(node: Node, data: str, axis: int, sizes: str) -> None:
    """Let a SequenceAt be the Slice of `data` from the sum of the `sizes` (an int64 vector) before its position.

    The sizes before position i are `sizes[:i]` for negative positions too, and Gather fails out of range as SequenceAt does.
    """
    at, zero = _position(node), int64(node, [0], "zero")
    start, end = zero, node.before("Gather", [sizes, at], what="size", axis=0)
    if at != zero:
        before = node.before("Slice", [sizes, zero, at, zero], what="before")
        start = node.before("ReduceSum", [before], what="start", keepdims=1)
        end = node.before("Add", [start, end], what="end")
    node.become("Slice", [data, start, end, int64(node, [axis], "axes")])


def _position(node: Node) -> str:
    """The position of a SequenceAt as an int64 vector of one."""
    constant = node.constant(1)
    if constant is not None:
        return int64(node, constant.reshape(-1).tolist(), "position")
    return node.before("Reshape", [as_int64(node, node.input(1)), int64(node, [1], "vector")], what="position")
