"""BitwiseAnd, BitwiseOr, BitwiseXor and BitwiseNot below opset 18, by arithmetic.

https://onnx.ai/onnx/operators/onnx__BitwiseAnd.html, https://onnx.ai/onnx/operators/onnx__BitwiseOr.html,
https://onnx.ai/onnx/operators/onnx__BitwiseXor.html, https://onnx.ai/onnx/operators/onnx__BitwiseNot.html
"""

from __future__ import annotations

from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.integers import BITS, UNSIGNED, become_cast


@decompose("BitwiseNot", opset=13)
def subtract_from_all_ones(node: Node) -> None:
    """The number is subtracted from the one whose bits are all set: -1 for signed types."""
    elem_type = node.need_elem_type()
    ones = 2 ** BITS[elem_type] - 1 if elem_type in UNSIGNED else -1
    all_ones = node.add_constant(ones, helper.tensor_dtype_to_np_dtype(elem_type), "ones")
    node.become("Sub", [all_ones, node.input(0)], opset=14)


@decompose(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), opset=13)
def bit_by_bit(node: Node) -> None:
    """The bits of both operands are taken apart along a new axis, combined by arithmetic, and summed with their weights."""
    elem_type = node.need_elem_type()
    signed, bits = elem_type not in UNSIGNED or elem_type == TensorProto.UINT64, BITS[elem_type]
    a, b = (_bits(node, name, bits, signed) for name in node.inputs)
    both = node.before("Mul", [a, b], what="both")
    result = both
    if node.op_type != "BitwiseAnd":
        times = both if node.op_type == "BitwiseOr" else node.before("Add", [both, both], what="twice")
        result = node.before("Sub", [node.before("Add", [a, b], what="either"), times], what="bits")
    weights = [2**n for n in range(bits - signed)] + ([-(2 ** (bits - 1))] if signed else [])
    become_cast(node, _weighted_sum(node, result, weights), elem_type)


def _weighted_sum(node: Node, bits: str, weights: list[int]) -> str:
    """The sum of `bits` times `weights` over the last axis; in two halves if there are more than 32, for onnxruntime adds int64 as
    double.
    """
    if len(weights) > 32:
        low, high = (_part(node, bits, *bounds) for bounds in ((0, 32), (32, len(weights))))
        low = _weighted_sum(node, low, weights[:32])
        high = _weighted_sum(node, high, [weight // 2**32 for weight in weights[32:]])
        return node.before("Add", [low, node.before("Mul", [high, int64(node, 2**32, "half")], what="high")], what="sum")
    weighted = node.before("Mul", [bits, int64(node, weights, "weights")], what="weighted")
    shape = node.output_shape()
    # onnxruntime does not reduce an empty tensor along an axis that counts from the back.
    last = -1 if shape is None else len(shape)
    return node.before("ReduceSum", [weighted, int64(node, [last], "last")], what="sum", keepdims=0)


def _part(node: Node, bits: str, start: int, end: int) -> str:
    """The entries `start` to `end` of the last axis of `bits`."""
    bounds = [int64(node, [value], "bound") for value in (start, end, -1)]
    return node.before("Slice", [bits, *bounds], what="part")


def _bits(node: Node, name: str, bits: int, signed: bool) -> str:
    """The bits of `name`, lowest first, along a new last axis, as int64. uint64 is read as the int64 with the same bits."""
    number = node.before("Cast", [name], what="wide", to=TensorProto.INT64)
    number = node.before("Unsqueeze", [number, int64(node, [-1], "last")], what="column")
    sign = ""
    if signed:
        negative = node.before("Less", [number, int64(node, 0, "zero")], what="negative")
        sign = node.before("Cast", [negative], what="sign", to=TensorProto.INT64)
        lowest = node.before("Mul", [sign, int64(node, -(2 ** (bits - 1)), "lowest")], what="offset")
        number = node.before("Sub", [number, lowest], what="low_bits")
    powers = int64(node, [2**n for n in range(bits - signed)], "powers")
    shifted = node.before("Div", [number, powers], what="shifted")
    two = int64(node, 2, "two")
    even = node.before("Mul", [node.before("Div", [shifted, two], what="half"), two], what="even")
    low = node.before("Sub", [shifted, even], what="bits")
    return node.before("Concat", [low, sign], what="bits", axis=-1) if signed else low
