"""Softmax and LogSoftmax before opset 13, which flatten their input to a matrix: all axes from `axis` on become one.

https://onnx.ai/onnx/operators/onnx__Softmax.html (Softmax-1, Softmax-11)
"""

from __future__ import annotations

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node
from ..shared.axes import from_the_front


@avoid("Softmax before opset 13, axis not last", ("Softmax", "LogSoftmax"), opset=11)
def of_a_matrix(node: Node) -> None:
    """A Reshape before the node makes a matrix of the data, and a Reshape after it restores the shape."""
    op = node.op
    axis = node.attr("axis", 1)
    if node.opset >= 13 or axis == -1:
        return
    rank = node.need_rank()
    (axis,) = from_the_front([axis], rank)
    if axis == rank - 1:
        return
    shape = node.shape()
    known = [dim for dim in shape or () if isinstance(dim, int) and dim > 0]
    if shape is not None and len(known) >= rank - 1:
        dims = [dim if isinstance(dim, int) and dim > 0 else -1 for dim in shape]
        back = op.int64(dims)
    else:
        back = op.Shape(node.input(0))
    matrix = op.Flatten(node.input(0), axis=axis)
    probabilities = getattr(op, node.op_type)(matrix, axis=1)
    node.become.Reshape(probabilities, back)
