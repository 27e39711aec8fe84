"""QLinearAdd, QLinearMul, QLinearSigmoid, …: 8-bit operators, between DequantizeLinear and QuantizeLinear.

This is the form from which onnxruntime makes them, and which other runtimes fuse. Where a result lies in the middle between two
steps, or nearly so, onnxruntime's kernels round to the other one at times: QLinearAdd, which it computes with integers, for 1 in
5,000 elements. QLinearSoftmax rounds down. So a result may be one step apart.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from ...rewriter.graph.node import Node
from ..shared.contrib import contrib
from ..shared.quantized import dequantized, quantized


def _binary(node: Node, op_type: str) -> None:
    value = getattr(node.op, op_type)(dequantized(node, 0, 1, 2), dequantized(node, 3, 4, 5))
    node.give(quantized(node, value, 6, 7, node.need_elem_type()))


@contrib("QLinearAdd", opset=13, steps=True)
def add_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of both operands, Add and QuantizeLinear."""
    _binary(node, "Add")


@contrib("QLinearMul", opset=13, steps=True)
def multiply_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of both operands, Mul and QuantizeLinear."""
    _binary(node, "Mul")


@contrib("QLinearSigmoid", opset=13, steps=True)
def sigmoid_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, Sigmoid and QuantizeLinear."""
    value = node.op.Sigmoid(dequantized(node, 0, 1, 2))
    node.give(quantized(node, value, 3, 4, node.need_elem_type()))


@contrib("QLinearLeakyRelu", opset=13, steps=True)
def leaky_relu_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, LeakyRelu and QuantizeLinear."""
    value = node.op.LeakyRelu(dequantized(node, 0, 1, 2), alpha=node.attr("alpha", 0.01))
    node.give(quantized(node, value, 3, 4, node.need_elem_type()))


@contrib("QLinearSoftmax", opset=13, steps=True)
def softmax_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, Softmax and QuantizeLinear. Its attribute `opset` says which Softmax it is.

    Before opset 13, that is the one over all axes from `axis` on; without `axis`, over the last one in all opsets.
    """
    opset, op = node.attr("opset"), node.op
    value = dequantized(node, 0, 1, 2)
    axis = node.attr("axis", -1)
    value = op.Softmax(value, axis=axis) if opset >= 13 else op.Softmax(value, axis=axis, opset=max(opset, 11))
    node.give(quantized(node, value, 3, 4, node.need_elem_type()))


@contrib("QLinearReduceMean", opset=13, steps=True)
def mean_of_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear, ReduceMean and QuantizeLinear."""
    axes = node.attr("axes")
    value = node.op.ReduceMean(dequantized(node, 0, 1, 2), axes=axes or None, keepdims=node.attr("keepdims"))
    node.give(quantized(node, value, 3, 4, node.need_elem_type()))


@contrib("QLinearWhere", opset=13, steps=True)
def choose_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of both operands, Where and QuantizeLinear."""
    value = node.op.Where(node.input(0), dequantized(node, 1, 2, 3), dequantized(node, 4, 5, 6))
    node.give(quantized(node, value, 7, 8, node.need_elem_type(1)))


@contrib("QLinearConcat", opset=13, steps=True)
def concatenate_real_numbers(node: Node) -> None:
    """The node becomes DequantizeLinear of each operand, Concat and QuantizeLinear."""
    parts = [dequantized(node, index, index + 1, index + 2) for index in range(2, len(node.inputs), 3)]
    value = node.op.Concat(*parts, axis=node.attr("axis"))
    node.give(quantized(node, value, 0, 1, node.need_elem_type(1)))
