"""Quantized operators whose scales or zero points a runtime misreads.

https://onnx.ai/onnx/operators/onnx__QLinearConv.html, https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html,
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
"""

from __future__ import annotations

import numpy as np

from ...rewriter.engine.registry import avoid
from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.quantized import EIGHT_BITS, of_each
from ..shared.real_products import convolve_real_numbers, may_be_real, multiply_real_numbers


@avoid("Quantized product with a scale for each channel", "QLinearConv", opset=13, exact=False)
def convolve_real(node: Node) -> None:
    """The node becomes DequantizeLinear, Conv and QuantizeLinear.

    It is exact but for results in the middle between two steps, which may be one step apart. The number of scales has to be known.
    """
    if _has_several_scales(node):
        convolve_real_numbers(node)


@avoid("Quantized product with a scale for each channel", "QLinearMatMul", opset=13, exact=False)
def multiply_real(node: Node) -> None:
    """The node becomes DequantizeLinear, MatMul and QuantizeLinear.

    It is exact but for results in the middle between two steps, which may be one step apart. The number of scales has to be known.
    """
    if _has_several_scales(node):
        if node.need_rank(3) < 2:
            raise Unconvertible("it has several scales for a vector", "correct the model")
        multiply_real_numbers(node)


def _has_several_scales(node: Node) -> bool:
    """Whether it does. Raises Unconvertible where that is not known, or where they are not those of columns."""
    if of_each(node, 1) == of_each(node, 4) == 0:
        return False
    if not may_be_real(node):
        raise Unconvertible(
            "nothing shows that its scales are float, and one for all or a vector of one for each column", "write them so"
        )
    node.rounds = True
    return True


@avoid("Quantization without a zero point", ("QuantizeLinear", "DequantizeLinear"), opset=10)
def state_zero(node: Node) -> None:
    """A zero point of 0 is added, of the shape of the scale.

    It is exact for all types. The shape of the scale has to be known.
    """
    integers = node.elem_type(node.output(0) if node.op_type == "QuantizeLinear" else 0)
    if not node.has_input(2) and integers in EIGHT_BITS:
        node.set_input(2, node.op.const(np.zeros(node.need_shape(1)), integers))


@avoid("Quantization of a constant", "QuantizeLinear", opset=10)
def store_steps(node: Node) -> None:
    """A stored float is stored as the integer that stands for it, by one scale for all elements.

    It is exact but for elements in the middle between two steps, which may be one step apart.
    """
    value, scale, zero = (node.constant(index) for index in range(3))
    if value is None or scale is None or zero is None or zero.size != 1 or scale.size != 1 or value.dtype != np.float32:
        return
    if node.graph.is_output(node.output(0)):
        return
    if (
        zero.dtype in (np.uint8, np.int8)
        and np.isfinite(value).all()
        and scale.dtype == np.float32
        and np.isfinite(scale).all()
        and scale.all()
    ):
        limits = np.iinfo(zero.dtype)
        steps = np.rint(value / scale.reshape(())).astype(np.float64) + int(zero.reshape(()))
        node.forward(0, node.op.const(np.clip(steps, limits.min, limits.max), zero.dtype))
        node.remove()
