"""MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv below opset 10: exact sums of integer products in floating point.

https://onnx.ai/onnx/operators/onnx__MatMulInteger.html, https://onnx.ai/onnx/operators/onnx__ConvInteger.html,
https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html, https://onnx.ai/onnx/operators/onnx__QLinearConv.html
"""

from __future__ import annotations

from itertools import product
from math import prod

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.saturating import become_saturated
from .shared.windows import CONVOLUTION, attributes_of
from .shared.zero_points import shifts

_EIGHT_BITS = (TensorProto.INT8, TensorProto.UINT8)
_LARGEST_PRODUCT = 255 * 255
"""The largest product of two differences of 8-bit numbers."""
_EXACT_IN_FLOAT = 2**24 // _LARGEST_PRODUCT
"""The number of products of 8-bit differences whose sum is always exact in float."""
_HALF = 16
"""An 8-bit number is 16 times its high four bits plus its low four bits."""
_EXACT_BY_HALVES = 2**24 // (255 * (_HALF - 1))
"""The number of products of 8-bit and 4-bit numbers whose sum is exact in float. Sums of 4-bit products are exact within int32."""
_EXACT_IN_INT32 = 2**31 // _LARGEST_PRODUCT
"""The number of products of 8-bit differences whose sum certainly fits into int32."""


def _shifted(node: Node, index: int, zero_index: int, kind: int, form: list[int] | None = None) -> str:
    """Input `index` minus its zero point, in the type `kind`. A zero point for each row or channel is reshaped to `form`."""
    op = node.op
    if node.need_elem_type(index) not in _EIGHT_BITS:
        raise Unconvertible("only products of 8-bit integers can be written in older operators")
    number = op.Cast(node.input(index), to=kind)
    if not shifts(node, zero_index):
        return number
    zero = op.Cast(node.input(zero_index), to=kind)
    if form is not None:
        zero = _reshaped(node, zero, zero_index, form)
    return op.Sub(number, zero)


def _reshaped(node: Node, name: str, index: int, form: list[int]) -> str:
    """`name`, which has the shape of input `index`, reshaped to `form` if it is a vector."""
    return node.op.Reshape(name, node.op.int64(form)) if node.need_rank(index) == 1 else name


def _require_int32(inner: int) -> None:
    """Raises Unconvertible where a sum of `inner` products may overflow int32."""
    if inner > _EXACT_IN_INT32:
        raise Unconvertible(f"sums of {inner} products may overflow int32, and older operators do not wrap alike")


def _product(node: Node, a: tuple[int, int], b: tuple[int, int]) -> str:
    """MatMul of two inputs minus their zero points, each given as (input, zero point) positions, in float where that is exact.

    Otherwise it is computed in double, which is exact because no sum exceeds int32.
    """
    inner = _products_in_a_sum(node, a[0], b[0])
    _require_int32(inner)
    kind = TensorProto.FLOAT if inner <= _EXACT_IN_FLOAT else TensorProto.DOUBLE
    return node.op.MatMul(_shifted(node, *a, kind, _per_row(node, a[0])), _shifted(node, *b, kind))


def _products_in_a_sum(node: Node, a: int, b: int) -> int:
    """The number of products that MatMul adds: the last dimension of input `a`, or if that is unknown, the matching one of `b`."""
    inner = node.dimension(0 if node.rank(b) == 1 else -2, b)
    return inner if isinstance(inner, int) else node.need_dimension(-1, a)


def _per_row(node: Node, index: int) -> list[int] | None:
    """The shape with which one number for each row broadcasts to input `index`; None where that is a vector, which has no rows."""
    return None if node.rank(index) == 1 else [-1, 1]


@decompose("MatMulInteger", opset=9)
def matmul_of_differences(node: Node) -> None:
    """The zero points are subtracted, and the differences multiplied by MatMul in float or double, which is exact."""
    node.become.Cast(_product(node, (0, 2), (1, 3)), to=TensorProto.INT32)


@decompose("ConvInteger", opset=9)
def conv_of_differences(node: Node) -> None:
    """The zero points are subtracted, and the differences convolved in float; if sums would be rounded, in halves of their bits."""
    node.become.Cast(_convolution(node, (0, 2), (1, 3)), to=TensorProto.INT32)


def _per_channel(node: Node, weights: int) -> list[int]:
    """The shape with which one number for each output channel broadcasts to input `weights`, or to an image."""
    return [-1] + [1] * (node.need_rank(weights) - 1)


def _convolution(node: Node, x: tuple[int, int], w: tuple[int, int]) -> str:
    """Conv of two inputs minus their zero points, each given as (input, zero point) positions, in float.

    Where sums of full products would be rounded, halves of the numbers are used, and their results are added in int32.
    """
    op = node.op
    inner = prod(node.need_shape(w[0])[1:])
    _require_int32(inner)
    if inner <= _EXACT_IN_FLOAT:
        image = _shifted(node, *x, TensorProto.FLOAT)
        return _float_convolution(node, image, _shifted(node, *w, TensorProto.FLOAT, _per_channel(node, w[0])))
    parts_of_x = _parts(node, *x, None, inner > _EXACT_BY_HALVES)
    parts_of_w = _parts(node, *w, _per_channel(node, w[0]), True)
    total = ""
    for (left, left_factor), (right, right_factor) in product(parts_of_x, parts_of_w):
        part = op.Cast(_float_convolution(node, left, right), to=TensorProto.INT32)
        if left_factor * right_factor > 1:
            factor = op.const(left_factor * right_factor, TensorProto.INT32)
            part = op.Mul(part, factor)
        total = op.Add(total, part) if total else part
    return total


def _parts(node: Node, index: int, zero_index: int, form: list[int] | None, is_halved: bool) -> list[tuple[str, int]]:
    """Input `index` minus its zero point as float: in one part, or in two parts of at most four bits and a
    sign; each with its factor.
    """
    op = node.op
    if not is_halved:
        return [(_shifted(node, index, zero_index, TensorProto.FLOAT, form), 1)]
    number = _shifted(node, index, zero_index, TensorProto.INT32, form)
    half = op.const(_HALF, TensorProto.INT32)
    high = op.Div(number, half)
    low = op.Sub(number, op.Mul(high, half))
    high, low = (op.Cast(part, to=TensorProto.FLOAT) for part in (high, low))
    return [(high, _HALF), (low, 1)]


def _float_convolution(node: Node, x: str, w: str) -> str:
    """Conv of `x` and `w`, which are float."""
    return node.op.Conv(x, w, **attributes_of(node, CONVOLUTION))


@decompose("QLinearConv", opset=11, exact=False)
def convolve_then_quantize(node: Node) -> None:
    """The exact sums and the bias are multiplied by the scales, rounded, shifted by the zero point, and saturated."""
    sums = _convolution(node, (0, 2), (3, 5))
    in_image = [1, *_per_channel(node, 3)[:-1]]
    if node.has_input(8):
        sums = node.op.Cast(sums, to=TensorProto.INT32)
        sums = node.op.Add(sums, _reshaped(node, node.input(8), 8, in_image))
    _quantize(node, sums, (node.input(1), _reshaped(node, node.input(4), 4, in_image), node.input(6)), 7)


@decompose("QLinearMatMul", opset=11, exact=False)
def matmul_then_quantize(node: Node) -> None:
    """The exact product is multiplied by the scales, rounded to the nearest even, shifted by the zero point, and saturated.

    A runtime that multiplies by the scales in another order may round to a neighbouring number.
    """
    sums, form = _product(node, (0, 2), (3, 5)), _per_row(node, 0)
    a_scale = node.input(1) if form is None else _reshaped(node, node.input(1), 1, form)
    _quantize(node, sums, (a_scale, node.input(4), node.input(6)), 7)


def _quantize(node: Node, sums: str, scales: tuple[str, str, str], zero_index: int) -> None:
    """Turn `node` into saturate(round(sums * scales[0] * scales[1] / scales[2]) + the zero point in input `zero_index`)."""
    op = node.op
    kind = node.need_elem_type(zero_index)
    sums = op.Cast(sums, to=TensorProto.FLOAT)
    scale = op.Div(op.Mul(*scales[:2]), scales[2])
    zero = ""
    if shifts(node, zero_index):
        zero = op.Cast(node.input(zero_index), to=TensorProto.FLOAT)
    become_saturated(node, op.Mul(sums, scale), zero, kind)
