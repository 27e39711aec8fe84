"""QuantizeLinear and DequantizeLinear: one scale for all (opset 10), one for each index of an axis (13), one for each block (21),
mixed types (23).

What an older version cannot take is written as the arithmetic of the operator's page: y = saturate(round(x / scale) + zero) and y =
(x - zero) * scale. DynamicQuantizeLinear came with opset 11.
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html,
https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import from_the_front
from .shared.indices import int64
from .shared.typed import type_name, typed

_SCALE, _ZERO = 1, 2
"""Positions of the scale and the zero point among the inputs."""
_FLOAT8 = frozenset(number for name, number in TensorProto.DataType.items() if name.startswith("FLOAT8"))
_HALF = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_RANGES: dict[int, tuple[int, int]] = {
    TensorProto.UINT8: (0, 255),
    TensorProto.INT8: (-128, 127),
    TensorProto.UINT16: (0, 65535),
    TensorProto.INT16: (-32768, 32767),
}
"""The lowest and the highest number of each integer type that older operators quantize to."""
_WIDER: dict[int, tuple[int, ...]] = {
    TensorProto.FLOAT16: (TensorProto.FLOAT,),
    TensorProto.BFLOAT16: (TensorProto.FLOAT,),
    TensorProto.INT32: (TensorProto.FLOAT,),
}
"""For types of x: the types in which the operator divides x. A narrower type would round x first."""


# 23: types that differ.


@downgrade("QuantizeLinear", 23)
def divide_in_one_type(node: Node) -> None:
    """x and the scale are cast to the type in which they are divided, that of precision or of the scale."""
    data, scale = node.need_elem_type(), node.need_elem_type(_SCALE)
    precision = node.pop_attr("precision", 0) or scale
    for index, kind in ((0, data), (_SCALE, scale)):
        if kind == precision:
            continue
        if precision not in _WIDER.get(kind, ()):
            raise Unconvertible(
                f"'{node.input(index)}' is {type_name(kind)} and divided as {type_name(precision)}, which is new in opset 23"
            )
        node.set_input(index, node.before("Cast", [node.input(index)], what="precision", to=precision))


@downgrade("DequantizeLinear", 23)
def multiply_in_output_type(node: Node) -> None:
    """output_dtype goes: the scale is cast to the output's type, in which the product is computed."""
    scale = node.need_elem_type(_SCALE)
    kind = node.pop_attr("output_dtype", 0) or scale
    if kind == scale:
        return
    if kind not in _WIDER.get(scale, ()):
        raise Unconvertible(f"the scale is {type_name(scale)} and the output {type_name(kind)}, which is new in opset 23")
    node.set_input(_SCALE, node.before("Cast", [node.input(_SCALE)], what="scale", to=kind))


# 21: blocks, and an output type without a zero point.


@downgrade("QuantizeLinear", 21)
def quantize_blocks(node: Node) -> None:
    """output_dtype becomes a zero point of that type; blocks, and results of 16 bits, are written out as arithmetic."""
    _give_zero_point(node)
    block = node.pop_attr("block_size", 0)
    if block or node.output_elem_type() in (TensorProto.UINT16, TensorProto.INT16):
        _quantize(node, block)


def _give_zero_point(node: Node) -> None:
    """Give the node a zero point of 0 in the type of output_dtype."""
    kind = node.pop_attr("output_dtype", 0)
    if node.has_input(_ZERO) or kind in (0, TensorProto.UINT8):
        return
    zeros = np.zeros(node.need_shape(_SCALE), helper.tensor_dtype_to_np_dtype(kind))
    node.set_input(_ZERO, node.add_constant(zeros, zeros.dtype, "zero_point"))


@downgrade("DequantizeLinear", 21)
def dequantize_blocks(node: Node) -> None:
    """Blocks, and integers of 16 bits, are written out as arithmetic."""
    block = node.pop_attr("block_size", 0)
    if block or node.elem_type() in (TensorProto.UINT16, TensorProto.INT16):
        _dequantize(node, block)


# 19: float8, and one type for x and the scale until 22.


@upgrade("QuantizeLinear", 19)
def cast_to_type_of_scale(node: Node) -> None:
    """x of integers is cast to the type of the scale, in which it is divided."""
    data, scale = node.need_elem_type(), node.need_elem_type(_SCALE)
    if data != scale:
        node.set_input(0, node.before("Cast", [node.input(0)], what="data", to=scale))


@downgrade("QuantizeLinear", 19)
def quantize_half_precision(node: Node) -> None:
    """saturate goes, which is for 8-bit floats; half precision is written out as arithmetic in float."""
    if node.output_elem_type() not in _FLOAT8:
        node.pop_attr("saturate")
    if node.need_elem_type() in _HALF:
        _quantize(node, 0)


@downgrade("DequantizeLinear", 19)
def dequantize_half_precision(node: Node) -> None:
    """Half precision is written out as arithmetic in float."""
    if node.need_elem_type() in _FLOAT8:
        raise Unconvertible(f"{type_name(node.need_elem_type())} does not exist before opset 19")
    if node.need_elem_type(_SCALE) in _HALF:
        _dequantize(node, 0)


# 13: one scale per axis.


@downgrade("QuantizeLinear", 13)
def quantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector of one scale becomes a scalar."""
    if _is_per_tensor(node):
        _make_scalar(node)
    else:
        _quantize(node, 0)


@downgrade("DequantizeLinear", 13)
def dequantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector of one scale becomes a scalar."""
    if _is_per_tensor(node):
        _make_scalar(node)
    else:
        _dequantize(node, 0)


def _is_per_tensor(node: Node) -> bool:
    """Whether the scale is a single number. Raises Unconvertible where its shape is unknown."""
    shape = node.shape(_SCALE)
    if shape is None:
        node.need_rank(_SCALE)
    return shape in ((), (1,))


def _make_scalar(node: Node) -> None:
    """Turn scale and zero point, vectors of one, into the scalars that opset 10 wants."""
    node.pop_attr("axis")
    for index in (_SCALE, _ZERO):
        if node.has_input(index) and node.need_rank(index) == 1:
            node.set_input(index, node.before("Squeeze", [node.input(index)], what="scalar", axes=[0], opset=10))


# The arithmetic.


def _quantize(node: Node, block: int) -> None:
    """Let the node be saturate(round(x / scale) + zero). The sum in float32 is exact: what float32 cannot hold saturates anyway."""
    kind = node.output_elem_type() or TensorProto.UINT8
    if kind not in _RANGES:
        raise Unconvertible(f"quantizing to {type_name(kind)} needs a newer QuantizeLinear")
    data, precision = node.input(0), node.need_elem_type(_SCALE)
    if node.need_elem_type() != precision:
        data = node.before("Cast", [data], what="data", to=precision)
    quotient = node.before("Div", [data, _aligned(node, _SCALE, block)], what="quotient")
    rounded = node.before("Round", [quotient], what="rounded")
    rounded = node.before("Cast", [rounded], what="rounded", to=TensorProto.FLOAT)
    if node.has_input(_ZERO):
        zero = node.before("Cast", [_aligned(node, _ZERO, block)], what="zero_point", to=TensorProto.FLOAT)
        rounded = node.before("Add", [rounded, zero], what="shifted")
    bounds = [node.add_constant(bound, np.float32, "bound") for bound in _RANGES[kind]]
    saturated = node.before("Clip", [rounded, *bounds], what="saturated")
    node.become("Cast", [saturated], to=kind)


def _dequantize(node: Node, block: int) -> None:
    """Let the node be (x - zero) * scale, with the product in float32, rounded once to the type of the scale."""
    source, kind = node.need_elem_type(), node.need_elem_type(_SCALE)
    if source not in (*_RANGES, *_FLOAT8, TensorProto.INT32):
        raise Unconvertible(f"dequantizing {type_name(source)} needs a newer DequantizeLinear")
    exact = TensorProto.FLOAT if source in _FLOAT8 else TensorProto.INT32
    data, scale = node.input(0), _aligned(node, _SCALE, block)
    if node.has_input(_ZERO):
        data = node.before("Cast", [data], what="data", to=exact)
        zero = node.before("Cast", [_aligned(node, _ZERO, block)], what="zero_point", to=exact)
        data = node.before("Sub", [data, zero], what="difference")
    data = node.before("Cast", [data], what="difference", to=TensorProto.FLOAT)
    if kind == TensorProto.FLOAT:
        node.become("Mul", [data, scale])
        return
    scale = node.before("Cast", [scale], what="scale", to=TensorProto.FLOAT)
    node.become("Cast", [node.before("Mul", [data, scale], what="product")], to=kind)


def _aligned(node: Node, index: int, block: int) -> str:
    """Input `index`, the scale or the zero point, in a shape that broadcasts to x; `block` is the length of a block, or 0."""
    name, axis = node.input(index), node.attr("axis", 1)
    if node.need_rank(index) == 0:
        return name
    rank = node.need_rank()
    (axis,) = from_the_front([axis], rank)
    if block:
        positions = int64(node, [i // block for i in range(node.need_dimension(axis))], "block")
        return node.before("Gather", [name, positions], what="each", axis=axis)
    if rank == 1 or axis == rank - 1:
        return name
    return node.before("Reshape", [name, int64(node, [-1] + [1] * (rank - 1 - axis), "column")], what="column")


@decompose("QuantizeLinear", opset=11)
def round_and_clip(node: Node) -> None:
    """saturate(round(x / scale) + zero point) is written out, for a single scale."""
    _require_one_scale(node)
    kind = node.need_elem_type(2) if node.has_input(2) else TensorProto.UINT8
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
    x = node.input(0)
    if node.need_elem_type() != TensorProto.FLOAT:
        x = node.before("Cast", [x], what="x", to=TensorProto.FLOAT)
    steps = node.before("Round", [node.before("Div", [x, node.input(1)], what="scaled")], what="steps")
    if node.has_input(2):
        zero_point = node.before("Cast", [node.input(2)], what="zero_point", to=TensorProto.FLOAT)
        steps = node.before("Add", [steps, zero_point], what="shifted")
    bounds = [_float(node, float(bound)) for bound in (limits.min, limits.max)]
    node.become("Cast", [node.before("Clip", [steps, *bounds], what="clipped")], to=kind)


def _require_one_scale(node: Node) -> None:
    """Raises Unconvertible where there are several scales, which onnx.checker lets through."""
    shape = node.shape(_SCALE)
    if shape not in (None, (), (1,)):
        raise Unconvertible(f"the shape of its scale is {list(shape)}, and below opset 13 it has a single one", "correct the model")


@decompose("DynamicQuantizeLinear", opset=10)
def quantize_by_extremes(node: Node) -> None:
    """Scale and zero point are computed from the extremes of the data, as ONNX's function body does, and used by QuantizeLinear.

    For data of zeros only the scale is 1, as in onnxruntime; the operator's page divides zero by zero there.
    """
    x, zero, largest = node.input(0), _float(node, 0), _float(node, 255)
    low = node.before("Min", [node.before("ReduceMin", [x], what="min", keepdims=0), zero], what="low")
    high = node.before("Max", [node.before("ReduceMax", [x], what="max", keepdims=0), zero], what="high")
    extent = node.before("Sub", [high, low], what="extent")
    is_zero = node.before("Not", [node.before("Greater", [extent, zero], what="is_some")], what="is_zero")
    filler = node.before("Mul", [node.before("Cast", [is_zero], what="is_zero", to=TensorProto.FLOAT), largest], what="filler")
    scale = node.before("Div", [node.before("Add", [extent, filler], what="extent"), largest], outputs=[node.output(1)])
    steps = node.before("Round", [node.before("Neg", [node.before("Div", [low, scale], what="steps")])], what="steps", opset=11)
    point = node.before("Clip", [steps], what="point", min=0.0, max=255.0)
    point = node.before("Cast", [point], outputs=[node.output(2)], to=TensorProto.UINT8)
    node.become("QuantizeLinear", [x, scale, point], opset=10)
    node.drop_output(2)
    node.drop_output(1)


def _float(node: Node, value: float) -> str:
    """A scalar constant of type float."""
    return typed(node, value, TensorProto.FLOAT, "bound")


@decompose("DequantizeLinear", opset=9)
def subtract_and_scale(node: Node) -> None:
    """(x - zero point) * scale is written out, for a single scale; the difference is computed in int32."""
    _require_one_scale(node)
    x = node.input(0)
    if node.need_elem_type() != TensorProto.INT32:
        x = node.before("Cast", [x], what="wide", to=TensorProto.INT32)
    if node.has_input(2):
        zero_point = node.before("Cast", [node.input(2)], what="zero_point", to=TensorProto.INT32)
        x = node.before("Sub", [x, zero_point], what="difference")
    node.become("Mul", [node.before("Cast", [x], what="steps", to=TensorProto.FLOAT), node.input(1)])
