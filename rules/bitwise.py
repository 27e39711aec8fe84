"""BitwiseAnd, BitwiseOr, BitwiseXor and BitwiseNot below opset 18, computed by arithmetic.

https://onnx.ai/onnx/operators/onnx__BitwiseAnd.html, https://onnx.ai/onnx/operators/onnx__BitwiseOr.html,
https://onnx.ai/onnx/operators/onnx__BitwiseXor.html, https://onnx.ai/onnx/operators/onnx__BitwiseNot.html
"""

from __future__ import annotations

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.integers import BITS, UNSIGNED, become_cast


@decompose("BitwiseNot", opset=13)
def subtract_from_all_ones(node: Node) -> None:
    """The number is subtracted from the number with all bits set, which is -1 for signed types."""
    elem_type = node.need_elem_type()
    ones = 2 ** BITS[elem_type] - 1 if elem_type in UNSIGNED else -1
    all_ones = node.op.const(ones, elem_type)
    node.become.Sub(all_ones, node.input(0), opset=14)


@decompose(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), opset=13)
def bit_by_bit(node: Node) -> None:
    """The bits of both operands are put along a new axis, combined by arithmetic, and summed with their weights."""
    op = node.op
    elem_type = node.need_elem_type()
    signed, bits = elem_type not in UNSIGNED or elem_type == TensorProto.UINT64, BITS[elem_type]
    a, b = (_bits(node, name, bits, signed) for name in node.inputs)
    both = op.Mul(a, b)
    result = both
    if node.op_type != "BitwiseAnd":
        times = both if node.op_type == "BitwiseOr" else op.Add(both, both)
        result = op.Sub(op.Add(a, b), times)
    weights = [2**n for n in range(bits - signed)] + ([-(2 ** (bits - 1))] if signed else [])
    become_cast(node, _weighted_sum(node, result, weights), elem_type)


def _weighted_sum(node: Node, bits: str, weights: list[int]) -> str:
    """The sum of `bits` times `weights` over the last axis.

    More than 32 bits are summed in two halves, because onnxruntime adds int64 as double.
    """
    op = node.op
    if len(weights) > 32:
        low, high = (_part(node, bits, *bounds) for bounds in ((0, 32), (32, len(weights))))
        low = _weighted_sum(node, low, weights[:32])
        high = _weighted_sum(node, high, [weight // 2**32 for weight in weights[32:]])
        return op.Add(low, op.Mul(high, op.int64(2**32)))
    weighted = op.Mul(bits, op.int64(weights))
    shape = node.shape(node.output(0))
    # onnxruntime does not reduce an empty tensor along an axis that counts from the back.
    last = -1 if shape is None else len(shape)
    return op.ReduceSum(weighted, op.int64([last]), keepdims=0)


def _part(node: Node, bits: str, start: int, end: int) -> str:
    """The entries from `start` to `end` of the last axis of `bits`."""
    bounds = [node.op.int64([value]) for value in (start, end, -1)]
    return node.op.Slice(bits, *bounds)


def _bits(node: Node, name: str, bits: int, signed: bool) -> str:
    """The bits of `name`, lowest first, along a new last axis, as int64. uint64 is read as the int64 with the same bits."""
    op = node.op
    number = op.Cast(name, to=TensorProto.INT64)
    number = op.Unsqueeze(number, op.int64([-1]))
    sign = ""
    if signed:
        negative = op.Less(number, op.int64(0))
        sign = op.Cast(negative, to=TensorProto.INT64)
        lowest = op.Mul(sign, op.int64(-(2 ** (bits - 1))))
        number = op.Sub(number, lowest)
    powers = op.int64([2**n for n in range(bits - signed)])
    shifted = op.Div(number, powers)
    two = op.int64(2)
    even = op.Mul(op.Div(shifted, two), two)
    low = op.Sub(shifted, even)
    return op.Concat(low, sign, axis=-1) if signed else low
