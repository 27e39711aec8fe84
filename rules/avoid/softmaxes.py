"""Softmax and LogSoftmax before opset 13, which flatten their input to a matrix: all axes from `axis` on become one; and those of
float16, for which some runtimes have no kernel and put a wrong function in place, as for LayerNormalization.

https://onnx.ai/onnx/operators/onnx__Softmax.html (Softmax-1, Softmax-11),
https://onnx.ai/onnx/operators/onnx__LayerNormalization.html
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.engine.registry import avoid
from ...rewriter.graph.node import Node
from ..shared.axes import from_the_front


@avoid("Softmax before opset 13, axis not last", ("Softmax", "LogSoftmax"), opset=11)
def of_a_matrix(node: Node) -> None:
    """A Reshape before the node makes a matrix of the data, and a Reshape after it restores the shape.

    It is exact for all types. If several dimensions are unknown, empty data may fail: below opset 14 a Reshape gives no 0 that its
    input does not have in the same place. What is known to be empty stays as it is.
    """
    op = node.op
    axis = node.attr("axis", 1)
    if node.opset >= 13 or axis == -1:
        return
    rank = node.need_rank()
    (axis,) = from_the_front([axis], rank)
    if axis == rank - 1:
        return
    shape = node.shape() or (None,) * rank
    if 0 in shape:
        node.become.Identity(node.input(0))
        return
    if sum(isinstance(dim, int) for dim in shape) >= rank - 1:
        back = op.int64([dim if isinstance(dim, int) else -1 for dim in shape])
        matrix, last = op.Flatten(node.input(0), axis=axis), 1
    else:
        back = op.Shape(node.input(0))
        matrix, last = _with_last_axis(node, axis), axis
        node.caution("it may fail at run time if a dimension of its input is 0, which needs opset 13", only_if_empty=True)
    probabilities = getattr(op, node.op_type)(matrix, axis=last)
    node.become.Reshape(probabilities, back)


def _with_last_axis(node: Node, axis: int) -> str:
    """The data with one axis in place of those from `axis` on. The Reshape of its softmax copies each 0 from the right place."""
    if axis == 1:
        return node.op.Flatten(node.input(0), axis=1)
    return node.op.Reshape(node.input(0), node.op.int64([0] * axis + [-1]))


@avoid("Softmax or LayerNormalization of float16 from opset 18 on", ("LayerNormalization", "LogSoftmax", "Softmax"), opset=18)
def in_float(node: Node) -> None:
    """The node computes in float, between Casts. It is right up to the last bits of float16, for all lengths."""
    if node.need_elem_type() != TensorProto.FLOAT16:
        return
    node.approximate = True
    for position, value in enumerate(node.inputs):
        if value and node.need_elem_type(position) == TensorProto.FLOAT16:
            node.set_input(position, node.op.Cast(value, to=TensorProto.FLOAT))
    output = node.output(0)
    node.after.Cast(node.detach_output(0, "in_float"), output=output, to=TensorProto.FLOAT16)
