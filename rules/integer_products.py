"""MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv below opset 10: exact sums of integer products in floating point.

https://onnx.ai/onnx/operators/onnx__MatMulInteger.html, https://onnx.ai/onnx/operators/onnx__ConvInteger.html,
https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html, https://onnx.ai/onnx/operators/onnx__QLinearConv.html
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.typed import typed

_EIGHT_BITS = (TensorProto.INT8, TensorProto.UINT8)
_LARGEST_PRODUCT = 255 * 255
"""The largest product of two 8-bit numbers less their zero points."""
_EXACT_IN_FLOAT = 2**24 // _LARGEST_PRODUCT
"""Products of two 8-bit numbers whose sum is exact in float, whatever the numbers are."""
_HALF = 16
"""An 8-bit number is this times its high four bits plus its low four."""
_EXACT_BY_HALVES = 2**24 // (255 * (_HALF - 1))
"""Products of an 8-bit and a 4-bit number whose sum is exact in float. Of two 4-bit ones, it is exact for all that int32 holds."""
_EXACT_IN_INT32 = 2**31 // _LARGEST_PRODUCT
"""Products of two 8-bit numbers whose sum is certain to fit int32."""


def _shifted(node: Node, index: int, zero_index: int, form: list[int] | None) -> str:
    """Input `index` minus its zero point, as int32; a zero point for each row or channel is reshaped to `form`."""
    if node.need_elem_type(index) not in _EIGHT_BITS:
        raise Unconvertible("only products of 8-bit integers can be written in older operators")
    number = node.before("Cast", [node.input(index)], what="wide", to=TensorProto.INT32)
    if not node.has_input(zero_index):
        return number
    zero = node.before("Cast", [node.input(zero_index)], what="zero", to=TensorProto.INT32)
    if node.need_rank(zero_index) == 1 and form is not None:
        zero = node.before("Reshape", [zero, int64(node, form, "form")], what="zero")
    return node.before("Sub", [number, zero], what="shifted")


def _require_int32(inner: int) -> None:
    """Raises Unconvertible where a sum of `inner` products may overflow int32."""
    if inner > _EXACT_IN_INT32:
        raise Unconvertible(f"sums of {inner} products may overflow int32, and older operators do not wrap alike")


def _product(node: Node, a: str, b: str, inner: int) -> str:
    """MatMul of int32 matrices, in double, which opset 7 takes; exact because no sum of `inner` products leaves int32."""
    _require_int32(inner)
    a, b = (node.before("Cast", [name], what="double", to=TensorProto.DOUBLE) for name in (a, b))
    return node.before("MatMul", [a, b], what="product")


@decompose("MatMulInteger", opset=9)
def matmul_of_differences(node: Node) -> None:
    """The zero points are subtracted, and the differences multiplied by MatMul in double, which is exact."""
    a, b = _shifted(node, 0, 2, [-1, 1]), _shifted(node, 1, 3, None)
    product = _product(node, a, b, node.need_dimension(-1))
    node.become("Cast", [product], to=TensorProto.INT32)


@decompose("ConvInteger", opset=9)
def conv_of_differences(node: Node) -> None:
    """The zero points are subtracted, and the differences convolved in float, in halves of their bits where needed to be exact."""
    pair = _shifted(node, 0, 2, None), _shifted(node, 1, 3, _per_channel(node, 1))
    node.become("Cast", [_convolution(node, *pair, node.need_shape(1))], to=TensorProto.INT32)


def _per_channel(node: Node, weights: int) -> list[int]:
    """The shape in which numbers of output channels broadcast to input `weights`, or to an image."""
    return [-1] + [1] * (node.need_rank(weights) - 1)


def _convolution(node: Node, x: str, w: str, weights: tuple[int, ...]) -> str:
    """Conv of int32 values of at most 8 bits and a sign, in float. Where sums of whole products would be rounded, it is done in
    halves, which are added in int32.
    """
    inner = prod(weights[1:])
    _require_int32(inner)
    if inner <= _EXACT_IN_FLOAT:
        return _float_convolution(node, x, w)
    parts_of_x = _in_halves(node, x) if inner > _EXACT_BY_HALVES else [(x, 1)]
    total = ""
    for (left, left_factor), (right, right_factor) in product(parts_of_x, _in_halves(node, w)):
        part = node.before("Cast", [_float_convolution(node, left, right)], what="product", to=TensorProto.INT32)
        if left_factor * right_factor > 1:
            factor = typed(node, left_factor * right_factor, TensorProto.INT32, "factor")
            part = node.before("Mul", [part, factor], what="part")
        total = node.before("Add", [total, part], what="total") if total else part
    return total


def _in_halves(node: Node, number: str) -> list[tuple[str, int]]:
    """Split `number` into two numbers of at most four bits and a sign; returns each with its factor."""
    half = typed(node, _HALF, TensorProto.INT32, "half")
    high = node.before("Div", [number, half], what="high")
    return [(high, _HALF), (node.before("Sub", [number, node.before("Mul", [high, half], what="high")], what="low"), 1)]


def _float_convolution(node: Node, x: str, w: str) -> str:
    """Conv of `x` and `w`, of int32, in float."""
    x, w = (node.before("Cast", [name], what="float", to=TensorProto.FLOAT) for name in (x, w))
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    return node.before("Conv", [x, w], what="product", **{name: node.attr(name) for name in names})


@decompose("QLinearConv", opset=11, exact=False)
def convolve_then_quantize(node: Node) -> None:
    """The exact sums, plus the bias, are multiplied by the scales, rounded, moved by the zero point, and saturated."""
    form = _per_channel(node, 3)
    sums = _convolution(node, _shifted(node, 0, 2, None), _shifted(node, 3, 5, form), node.need_shape(3))
    in_image = int64(node, [1, *form[:-1]], "form")
    if node.has_input(8):
        bias = node.before("Reshape", [node.input(8), in_image], what="bias")
        sums = node.before("Cast", [sums], what="sums", to=TensorProto.INT32)
        sums = node.before("Add", [sums, bias], what="sums")
    scale = node.input(4)
    if node.need_rank(4) == 1:
        scale = node.before("Reshape", [scale, in_image], what="w_scale")
    _quantize(node, sums, (node.input(1), scale, node.input(6)), 7)


@decompose("QLinearMatMul", opset=11, exact=False)
def matmul_then_quantize(node: Node) -> None:
    """The exact product is multiplied by the scales, rounded to the nearest even, moved by the zero point, and saturated.

    A runtime that multiplies in another order may round to the neighbour.
    """
    sums = _product(node, _shifted(node, 0, 2, [-1, 1]), _shifted(node, 3, 5, None), node.need_dimension(-1))
    a_scale = node.input(1)
    if node.need_rank(1) == 1:
        a_scale = node.before("Reshape", [a_scale, int64(node, [-1, 1], "form")], what="a_scale")
    _quantize(node, sums, (a_scale, node.input(4), node.input(6)), 7)


def _quantize(node: Node, sums: str, scales: tuple[str, str, str], zero_index: int) -> None:
    """Let `node` become saturate(round(sums * scales[0] * scales[1] / scales[2]) + the zero point in input `zero_index`)."""
    kind = node.need_elem_type(zero_index)
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
    sums = node.before("Cast", [sums], what="float", to=TensorProto.FLOAT)
    scale = node.before("Div", [node.before("Mul", scales[:2], what="scales"), scales[2]], what="scale")
    steps = node.before("Round", [node.before("Mul", [sums, scale], what="scaled")], what="steps")
    zero = node.before("Cast", [node.input(zero_index)], what="y_zero", to=TensorProto.FLOAT)
    bounds = [typed(node, float(bound), TensorProto.FLOAT, "bound") for bound in (limits.min, limits.max)]
    clipped = node.before("Clip", [node.before("Add", [steps, zero], what="moved"), *bounds], what="clipped")
    node.become("Cast", [clipped], to=kind)
