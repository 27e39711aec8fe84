"""Products of 8-bit integers, as products of the real numbers that they stand for, between DequantizeLinear and QuantizeLinear.

https://onnx.ai/onnx/operators/onnx__QLinearConv.html, https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html,
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QGemm
"""

from __future__ import annotations

from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .quantized import EIGHT_BITS, dequantized, of_each, quantized, scalar
from .windows import CONVOLUTION, TRANSPOSED, attributes_of

_SCALE_OF_EACH = 13
"""The opset from which on DequantizeLinear takes a scale for each index of an axis."""


def convolve_real_numbers(node: Node) -> None:
    """A QLinearConv becomes DequantizeLinear of x, the weights and the bias, Conv and QuantizeLinear.

    It stays where its types, or how many scales it has, are others than those of 8-bit integers, or are not known.
    """
    if not may_be_real(node):
        return
    operands = [dequantized(node, 0, 1, 2), _in_columns(node, 3, axis=0)]
    if node.has_input(8):
        operands.append(_bias(node, 8, (1, 4)))
    value = node.op.Conv(*operands, **attributes_of(node, CONVOLUTION))
    node.give(quantized(node, value, 6, 7, node.need_elem_type(node.output(0))))


def spread_real_numbers(node: Node) -> str:
    """The real numbers that a QLinearConvTranspose computes before it quantizes them."""
    operands = [dequantized(node, 0, 1, 2), _in_columns(node, 3, axis=1)]
    if node.has_input(8):
        operands.append(_bias(node, 8, (1, 4)))
    return node.op.ConvTranspose(*operands, **attributes_of(node, TRANSPOSED))


def multiply_real_numbers(node: Node) -> None:
    """A QLinearMatMul becomes DequantizeLinear of both matrices, MatMul and QuantizeLinear, unless its types or scales are others
    than `convolve_real_numbers` says, or not known.
    """
    if not may_be_real(node):
        return
    rank = node.rank(3)
    if of_each(node, 4) and (rank is None or rank < 2):
        return
    value = node.op.MatMul(dequantized(node, 0, 1, 2), _in_columns(node, 3, axis=(rank or 1) - 1))
    node.give(quantized(node, value, 6, 7, node.need_elem_type(node.output(0))))


def linear_in_real_numbers(node: Node) -> str:
    """The real numbers that a QGemm computes before it quantizes them."""
    b_is_turned, alpha = node.attr("transB", 0) or None, node.attr("alpha", 1.0)
    factor = None if alpha == 1 else alpha
    operands = [dequantized(node, 0, 1, 2), _in_columns(node, 3, axis=0 if b_is_turned else 1)]
    if node.has_input(6):
        operands.append(_bias(node, 6, (1, 4)))
    return node.op.Gemm(*operands, alpha=factor, beta=factor, transA=node.attr("transA", 0) or None, transB=b_is_turned)


def may_be_real(node: Node) -> bool:
    """Whether the integers have 8 bits, the scales are float, and there is one of them but for each column of the weights."""
    kinds = [node.elem_type(0), node.elem_type(3), node.elem_type(node.output(0))]
    scales = [node.elem_type(index) for index in (1, 4, 6)]
    if any(kind not in EIGHT_BITS for kind in kinds) or any(kind != TensorProto.FLOAT for kind in scales):
        return False
    return all(of_each(node, index) == 0 for index in (1, 2, 6, 7)) and all(of_each(node, index) is not None for index in (4, 5))


def _in_columns(node: Node, data: int, *, axis: int) -> str:
    """Input `data`, followed by a scale and a zero point for all or each index of `axis`, as real numbers.

    Raises Unconvertible where it is not known how many of them there are.
    """
    for index in (data + 1, data + 2):
        if node.has_input(index) and of_each(node, index) is None:
            raise Unconvertible(f"nothing tells how many numbers '{node.input(index)}' has", node.shape_hint(node.input(index)))
    if not of_each(node, data + 1):
        return dequantized(node, data, data + 1, data + 2)
    operands = node.input(data), node.input(data + 1), _zero_of_each(node, data + 2, data + 1)
    return node.op.DequantizeLinear(*operands, axis=axis, opset=_SCALE_OF_EACH)


def _zero_of_each(node: Node, index: int, scale: int) -> str:
    """The zero point at `index`, which may be one for all, for each scale at `scale`."""
    if not node.has_input(index) or of_each(node, index):
        return node.input(index)
    return node.op.Expand(scalar(node, index), node.op.int64([of_each(node, scale) or 1]))


def _bias(node: Node, index: int, scales: tuple[int, int]) -> str:
    """Input `index`, of steps that are the product of the two scales, as real numbers.

    That of a QGemm may have fewer columns than there are scales, and is multiplied by them then.
    """
    lengths = [of_each(node, scale) for scale in scales]
    names = [node.input(scale) if length else scalar(node, scale) for scale, length in zip(scales, lengths, strict=True)]
    axis = (node.rank(index) or 1) - 1 if any(lengths) else None
    known = [node.constant(name) for name in names]
    if known[0] is None or known[1] is None:
        steps = node.op.Mul(*names)
    else:
        steps = node.op.const(known[0] * known[1], TensorProto.FLOAT)
    columns = max(length or 0 for length in lengths)
    if columns and (node.shape(index) or (None,))[-1] != columns:
        return node.op.Mul(node.op.Cast(node.input(index), to=TensorProto.FLOAT), steps)
    return node.op.DequantizeLinear(node.input(index), steps, axis=axis, opset=_SCALE_OF_EACH)
