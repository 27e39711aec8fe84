"""Products of quantized numbers, before the operators for them.

https://onnx.ai/onnx/operators/onnx__MatMulInteger.html, onnx__ConvInteger.html, onnx__QLinearMatMul.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .decompose_comparison import typed
from .indices import int64

_EIGHT_BITS = (TensorProto.INT8, TensorProto.UINT8)
_LARGEST_PRODUCT = 255 * 255
_EXACT_IN_FLOAT = 2**24 // _LARGEST_PRODUCT
"""Products of two 8-bit numbers that add up exactly in float, whatever they are."""
_EXACT_IN_INT32 = 2**31 // _LARGEST_PRODUCT


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


def _product(node: Node, a: str, b: str, inner: int) -> str:
    """MatMul of int32, exact in double (which opset 7 takes) because no sum of `inner` products leaves int32."""
    if inner > _EXACT_IN_INT32:
        raise Unconvertible(f"sums of {inner} products may overflow int32, and older operators do not wrap alike")
    a, b = (node.before("Cast", [name], what="double", to=TensorProto.DOUBLE) for name in (a, b))
    return node.before("MatMul", [a, b], what="product")


@decompose("MatMulInteger", opset=9)
def matmul_of_differences(node: Node) -> None:
    """(A - zero) (B - zero); a zero point of A is one for each row."""
    a, b = _shifted(node, 0, 2, [-1, 1]), _shifted(node, 1, 3, None)
    product = _product(node, a, b, node.need_dimension(-1))
    node.become("Cast", [product], to=TensorProto.INT32)


@decompose("ConvInteger", opset=9)
def conv_of_differences(node: Node) -> None:
    """Conv of x - zero and w - zero in float, where no sum of products is rounded. Padding is the zero point, less itself."""
    weights = node.need_shape(1)
    if prod(weights[1:]) > _EXACT_IN_FLOAT:
        raise Unconvertible(f"sums of {prod(weights[1:])} products of 8-bit integers are not exact in float")
    pair = _shifted(node, 0, 2, None), _shifted(node, 1, 3, [-1] + [1] * (len(weights) - 1))
    x, w = (node.before("Cast", [name], what="float", to=TensorProto.FLOAT) for name in pair)
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    product = node.before("Conv", [x, w], what="product", **{name: node.attr(name) for name in names})
    node.become("Cast", [product], to=TensorProto.INT32)


@decompose("QLinearMatMul", opset=11, exact=False)
def matmul_then_quantize(node: Node) -> None:
    """The exact product times a_scale * b_scale / y_scale, rounded to the nearest even, plus the zero point, saturated.

    A runtime that multiplies in another order may round to the neighbour.
    """
    kind = node.need_elem_type(7)
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
    product = _product(node, _shifted(node, 0, 2, [-1, 1]), _shifted(node, 3, 5, None), node.need_dimension(-1))
    product = node.before("Cast", [product], what="float", to=TensorProto.FLOAT)
    a_scale = node.input(1)
    if node.need_rank(1) == 1:
        a_scale = node.before("Reshape", [a_scale, int64(node, [-1, 1], "form")], what="a_scale")
    scale = node.before("Div", [node.before("Mul", [a_scale, node.input(4)], what="scales"), node.input(6)], what="scale")
    steps = node.before("Round", [node.before("Mul", [product, scale], what="scaled")], what="steps")
    zero = node.before("Cast", [node.input(7)], what="y_zero", to=TensorProto.FLOAT)
    bounds = [typed(node, float(bound), TensorProto.FLOAT, "bound") for bound in (limits.min, limits.max)]
    clipped = node.before("Clip", [node.before("Add", [steps, zero], what="moved"), *bounds], what="clipped")
    node.become("Cast", [clipped], to=kind)
