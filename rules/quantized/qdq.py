"""QLinearConv, QLinearMatMul and QGemm as operators of real numbers, between DequantizeLinear and QuantizeLinear.

The operators add products of integers, which they scale once; real numbers are scaled before. So a result that lies in the middle
between two steps, or nearly so, may be one step apart.
https://onnx.ai/onnx/operators/onnx__QLinearConv.html, https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html,
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QGemm
"""

from __future__ import annotations

import numpy as np

from ...rewriter.engine.registry import EVERY_OPERATOR, replace, respell
from ...rewriter.graph.node import Node
from ..shared.contrib import DOMAIN
from ..shared.quantized import EIGHT_BITS, are_moved, comes_back, quantized
from ..shared.real_products import convolve_real_numbers, linear_in_real_numbers, multiply_real_numbers


@respell("QLinearConv", opset=10, steps=True)
def convolution(node: Node) -> None:
    """The node becomes DequantizeLinear of x, the weights and the bias, Conv and QuantizeLinear."""
    convolve_real_numbers(node)


@respell("QLinearMatMul", opset=10, steps=True)
def product(node: Node) -> None:
    """The node becomes DequantizeLinear of both matrices, MatMul and QuantizeLinear."""
    multiply_real_numbers(node)


@replace(DOMAIN, "QGemm", opset=13, steps=True)
def linear(node: Node) -> None:
    """The node becomes DequantizeLinear of both matrices and the bias, Gemm, and QuantizeLinear if the result is quantized."""
    node.require_known_form()
    value = linear_in_real_numbers(node)
    node.give(quantized(node, value, 7, 8, node.need_elem_type()) if node.has_input(7) else value)


@respell(EVERY_OPERATOR, opset=10, exact=True)
def moved(node: Node) -> None:
    """A node that moves the integers of a QuantizeLinear, or chooses among them, moves the real numbers, and they are quantized."""
    before = node.maker()
    if node.elem_type() not in EIGHT_BITS or not are_moved(node) or before is None or before.op_type != "QuantizeLinear":
        return
    is_alone = all(node.elem_type(index) not in EIGHT_BITS for index in range(1, len(node.inputs)) if node.has_input(index))
    if before.rank(1) != 0 or not is_alone or not comes_back(node, before.input(1)):
        return
    parameters = before.inputs[1:]
    if not before.has_input(2):
        parameters = [before.input(1), node.op.const(np.zeros(()), node.need_elem_type())]
    node.set_input(0, node.op.DequantizeLinear(node.input(0), *parameters))
    output = node.output(0)
    node.after.QuantizeLinear(node.detach_output(0, "real"), *parameters, output=output)
