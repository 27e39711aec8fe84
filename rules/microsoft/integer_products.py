"""QGemm, MatMulIntegerToFloat, DynamicQuantizeMatMul and MatMulInteger16: products of integers that stand for real numbers.

The integers are summed up exactly, by MatMulInteger, and scaled in float, as in onnxruntime's kernels.
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.QGemm
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ..shared.contrib import contrib
from ..shared.quantized import scalar


@contrib("QGemm", opset=13, steps=True)
def multiply_quantized(node: Node) -> None:
    """The node becomes MatMulInteger, Add of the bias, Cast, Mul by the scales, and QuantizeLinear if the result is quantized.

    As in the kernel, the sum is multiplied by the quotient of all scales, where these are constant.
    """
    op = node.op
    a, b = (_transposed(node, index, letter) for index, letter in ((0, "A"), (3, "B")))
    total = op.MatMulInteger(a, b, scalar(node, 2), node.input(5))
    if node.has_input(6):
        total = op.Add(total, node.input(6))
    real = op.Cast(total, to=int(TensorProto.FLOAT))
    if not node.has_input(8):
        node.give(op.Mul(real, _factor(node, 1, 4)))
        return
    scales = [node.constant(index) for index in (1, 4, 7)]
    if any(scale is None for scale in scales):
        node.give(op.QuantizeLinear(op.Mul(real, _factor(node, 1, 4)), scalar(node, 7), scalar(node, 8)))
        return
    left, right, result = (np.asarray(scale, np.float32) for scale in scales)
    factor = np.float32(node.attr("alpha", 1.0)) * left.reshape(()) * right / result.reshape(())
    steps = op.Mul(real, op.const(factor, TensorProto.FLOAT))
    node.give(op.QuantizeLinear(steps, op.const(1.0, TensorProto.FLOAT), scalar(node, 8)))


def _transposed(node: Node, index: int, letter: str) -> str:
    name = node.input(index)
    return node.op.Transpose(name, perm=[1, 0]) if node.attr(f"trans{letter}", 0) else name


def _factor(node: Node, left: int, right: int) -> str:
    """alpha · the product of two scales, the second of which may be one for each column."""
    op, kind, alpha = node.op, node.need_elem_type(left), node.attr("alpha", 1.0)
    factor = op.Mul(scalar(node, left), node.input(right))
    return factor if alpha == 1.0 else op.Mul(factor, op.const(alpha, kind))


@contrib("MatMulIntegerToFloat", opset=13)
def multiply_integers_to_real_numbers(node: Node) -> None:
    """The node becomes MatMulInteger, Cast, Mul by the product of the scales, and Add of the bias."""
    op, kind = node.op, node.need_elem_type(2)
    zeros = [_zero_point(node, 4, 0), _zero_point(node, 5, 1)] if node.has_input(4) or node.has_input(5) else []
    real = op.Cast(op.MatMulInteger(node.input(0), node.input(1), *zeros), to=kind)
    value = op.Mul(real, op.Mul(_for_rows(node, 2), node.input(3)))
    node.give(op.Add(value, node.input(6)) if node.has_input(6) else value)


def _zero_point(node: Node, index: int, data: int) -> str:
    """A zero point: an absent one before one that is there is 0."""
    if not node.has_input(index):
        return node.op.const(np.zeros(()), node.need_elem_type(data))
    if data == 0 and node.rank(index) != 0:
        return scalar(node, index)
    return node.input(index)


def _for_rows(node: Node, index: int) -> str:
    """The scale of the left matrix: one number."""
    if (node.rank(index) or 0) == 0:
        return node.input(index)
    return scalar(node, index)


@contrib("DynamicQuantizeMatMul", opset=13, steps=True)
def quantize_and_multiply(node: Node) -> None:
    """The node becomes DynamicQuantizeLinear, MatMulInteger, Cast, Mul by the scales, and Add of the bias."""
    op = node.op
    integers, scale, zero = op.DynamicQuantizeLinear(node.input(0), outputs=3)
    zeros = [zero, *([node.input(3)] if node.has_input(3) else [])]
    real = op.Cast(op.MatMulInteger(integers, node.input(1), *zeros), to=int(TensorProto.FLOAT))
    value = op.Mul(real, op.Mul(scale, node.input(2)))
    node.give(op.Add(value, node.input(4)) if node.has_input(4) else value)


@contrib("MatMulInteger16", opset=13, exact=True)
def multiply_short_integers(node: Node) -> None:
    """The node becomes MatMul of the operands in 32 bits, which wraps as the kernel does."""
    kinds = {node.need_elem_type(index) for index in (0, 1)}
    if len(kinds) != 1:
        raise Unconvertible("MatMulInteger16 has operands with a sign and without one", "cast one of them")
    wide = int(TensorProto.INT32 if kinds == {TensorProto.INT16} else TensorProto.UINT32)
    op = node.op
    node.give(op.MatMul(op.Cast(node.input(0), to=wide), op.Cast(node.input(1), to=wide)))
