"""QuantizeLinear and DequantizeLinear: one scale for all (opset 10), one for each index of an axis (13), half precision (19), one
for each block (21), mixed types (23). DynamicQuantizeLinear came with opset 11.

y = saturate(round(x / scale) + zero point), and back y = (x - zero point) * scale. What an older version cannot take keeps its form
where it can: blocks along the last axis become rows with a scale each, and what Div has divided is quantized with a scale of 1. The
rest is written as that arithmetic.
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html,
https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import require_axis
from .shared.indices import count_up, length
from .shared.saturating import RANGES, become_saturated
from .shared.scales import along_axis
from .shared.typed import type_name
from .shared.zero_points import known_zero_point, shifts

_SCALE, _ZERO = 1, 2
"""Positions of the scale and the zero point among the inputs."""
_FLOAT8 = frozenset(number for name, number in TensorProto.DataType.items() if name.startswith("FLOAT8"))
_HALF = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_DIVIDED_IN = (TensorProto.FLOAT, *_HALF)
"""The types in which a quotient is rounded to an integer."""
_EIGHT_BITS = (TensorProto.UINT8, TensorProto.INT8)
_SIXTEEN_BITS = (TensorProto.UINT16, TensorProto.INT16)


class _Operands(NamedTuple):
    """The names of x and the scale, and of the zero point or "" where it is 0, in shapes that broadcast."""

    data: str
    scale: str
    zero: str


# 23: types that differ.


@upgrade("QuantizeLinear", 23)
def keep_dividing_in_float(node: Node) -> None:
    """Half precision gets precision=FLOAT: x is divided in float before opset 23, and in the type of the scale from 23 on."""
    if node.need_elem_type(_SCALE) in _HALF:
        node.set_attr("precision", int(TensorProto.FLOAT))


@downgrade("QuantizeLinear", 23)
def divide_in_one_type(node: Node) -> None:
    """x and the scale are cast to the type in which they are divided; in half precision, Div divides them."""
    precision = node.pop_attr("precision", 0) or node.need_elem_type(_SCALE)
    if precision in _HALF:
        _give_zero_point(node)
        _quantize(node, node.pop_attr("block_size", 0), precision)
        return
    if precision != TensorProto.FLOAT and node.need_elem_type() != node.need_elem_type(_SCALE):
        raise Unconvertible(f"'{node.input(0)}' is divided in {type_name(precision)}, which is new in opset 23")
    for index in (0, _SCALE):
        _cast_input(node, index, precision)


@downgrade("DequantizeLinear", 23)
def multiply_in_output_type(node: Node) -> None:
    """output_dtype goes: where it is not the type of the scale, the product is computed in float, and cast."""
    kind = node.pop_attr("output_dtype", 0)
    if kind not in (0, node.need_elem_type(_SCALE)):
        _dequantize_in_float(node, kind)


def _cast_input(node: Node, index: int, kind: int) -> None:
    """Cast input `index` to the type `kind`, where it has another one."""
    if node.need_elem_type(index) != kind:
        node.set_input(index, _cast(node, node.input(index), kind))


def _cast(node: Node, name: str, kind: int) -> str:
    """`name` cast to the type `kind`; "" stays."""
    return name and node.op.Cast(name, to=kind)


def _dequantize_in_float(node: Node, kind: int) -> None:
    """Let the node multiply by its scale in float, and cast the product to `kind`: runtimes round once, and so does this."""
    _cast_input(node, _SCALE, TensorProto.FLOAT)
    if kind != TensorProto.FLOAT:
        output = node.output(0)
        node.after.Cast(node.detach_output(0, "product"), output=output, to=kind)


# 21: blocks, integers of 16 bits, and an output type without a zero point.


@downgrade("QuantizeLinear", 21)
def quantize_blocks(node: Node) -> None:
    """output_dtype becomes a zero point; blocks become rows, or with results of 16 bits are written out as arithmetic."""
    _give_zero_point(node)
    block, is_wide = node.pop_attr("block_size", 0), _quantized_type(node) in _SIXTEEN_BITS
    if block and not is_wide and _are_in_rows(node, block):
        _make_rows(node, block)
    elif block or is_wide:
        _quantize(node, block)


@downgrade("DequantizeLinear", 21)
def dequantize_blocks(node: Node) -> None:
    """Blocks become rows, or with integers of 16 bits are written out as arithmetic."""
    block, is_wide = node.pop_attr("block_size", 0), node.need_elem_type() in _SIXTEEN_BITS
    if block and not is_wide and _are_in_rows(node, block):
        _make_rows(node, block)
    elif block or is_wide:
        _dequantize(node, block)


def _give_zero_point(node: Node) -> None:
    """Turn output_dtype, where the node has no zero point, into one of 0 in that type."""
    kind = node.pop_attr("output_dtype", 0)
    if not node.has_input(_ZERO) and kind not in (0, TensorProto.UINT8):
        node.set_input(_ZERO, _zeros(node, node.need_shape(_SCALE), kind))


def _zeros(node: Node, shape: tuple[int, ...], kind: int) -> str:
    """A constant of zeros, of any type: its bytes are 0 in all of them."""
    if kind in (*_EIGHT_BITS, *_SIXTEEN_BITS):
        return node.op.const(np.zeros(shape), kind)
    size = prod(shape) if kind in _FLOAT8 else -(-prod(shape) // 2)
    return node.add_tensor(helper.make_tensor(node.fresh_name("zero_point"), kind, shape, bytes(size), raw=True))


def _are_in_rows(node: Node, block: int) -> bool:
    """Whether every `block` elements of x that follow each other in memory are a block, and Reshape can say so."""
    shape = _shape_to_reshape(node)
    if shape is None:
        return False
    blocked, *behind = shape[_blocked_axis(node) :]
    return blocked != -1 and blocked % block == 0 and all(dim == 1 for dim in behind)


def _shape_to_reshape(node: Node) -> list[int] | None:
    """The shape of x as Reshape takes it, with -1 for one unknown dimension; None where Reshape would not do.

    A dimension of 0 has another meaning for it, and runtimes do not reshape 8-bit floats.
    """
    shape = node.shape()
    if shape is None or 0 in shape or not _FLOAT8.isdisjoint((node.need_elem_type(), node.output_elem_type())):
        return None
    form = [dim if isinstance(dim, int) else -1 for dim in shape]
    return form if form.count(-1) <= 1 else None


def _blocked_axis(node: Node) -> int:
    """The axis along which there are blocks, counted from the front. Raises Unconvertible where x does not have it."""
    axis, rank = node.attr("axis", 1), node.need_rank()
    require_axis(axis, rank)
    return axis % rank


def _make_rows(node: Node, block: int) -> None:
    """Let each block be a row of a matrix, with a scale for each index of its first axis."""
    _reshape_around(node, [-1, block])
    for index in (_SCALE, _ZERO):
        if node.has_input(index):
            node.set_input(index, node.op.Reshape(node.input(index), node.op.int64([-1])))
    node.set_attr("axis", 0)


def _reshape_around(node: Node, form: list[int]) -> None:
    """Let the node work on its first input, for which `_shape_to_reshape` has a shape, in the shape `form`, and reshape back."""
    op = node.op
    back = op.int64(_shape_to_reshape(node) or [])
    node.set_input(0, op.Reshape(node.input(0), op.int64(form)))
    output = node.output(0)
    node.after.Reshape(node.detach_output(0, "blocks"), back, output=output)


# 19: half precision, float8, and one type for x and the scale until 22.


@upgrade("QuantizeLinear", 19)
def cast_to_type_of_scale(node: Node) -> None:
    """x of integers is cast to the type of the scale, in which it is divided."""
    _cast_input(node, 0, node.need_elem_type(_SCALE))


@downgrade("QuantizeLinear", 19)
def quantize_half_precision(node: Node) -> None:
    """saturate goes, which is for 8-bit floats; half precision is cast to float, in which runtimes divide it."""
    if node.output_elem_type() not in _FLOAT8:
        node.pop_attr("saturate")
    if node.need_elem_type() in _HALF:
        _cast_input(node, 0, TensorProto.FLOAT)
        _cast_input(node, _SCALE, TensorProto.FLOAT)


@downgrade("DequantizeLinear", 19)
def dequantize_half_precision(node: Node) -> None:
    """Half precision is multiplied in float, and the product cast."""
    kind = node.need_elem_type(_SCALE)
    if kind in _HALF:
        _dequantize_in_float(node, kind)


# 13: one scale per axis.


@downgrade("QuantizeLinear", 13)
def quantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector of one scale becomes a scalar."""
    if _is_per_tensor(node):
        _make_scalar(node)
    else:
        _quantize(node)


@downgrade("DequantizeLinear", 13)
def dequantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector of one scale becomes a scalar."""
    if _is_per_tensor(node):
        _make_scalar(node)
    else:
        _dequantize(node)


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
            node.set_input(index, node.op.Squeeze(node.input(index), axes=[0], opset=10))


# 10: below it, all is arithmetic.


@decompose("QuantizeLinear", opset=11)
def round_and_clip(node: Node) -> None:
    """saturate(round(x / scale) + zero point) is written out, for a single scale."""
    quotient, zero = _quotient(node, 0, TensorProto.FLOAT)
    become_saturated(node, quotient, _cast(node, zero, TensorProto.FLOAT), _quantized_type(node))


@decompose("DequantizeLinear", opset=9)
def subtract_and_scale(node: Node) -> None:
    """(x - zero point) * scale is written out, for a single scale."""
    _dequantize(node)


@decompose("DynamicQuantizeLinear", opset=10)
def quantize_by_extremes(node: Node) -> None:
    """Scale and zero point are computed from the extremes of the data, as ONNX's function body does, and used by QuantizeLinear.

    The zero point is -low / scale, rounded and saturated, so QuantizeLinear computes it, too. For data of zeros only the scale is
    1, as in onnxruntime; the operator's page divides zero by zero there.
    """
    op = node.op
    x, zero, largest = node.input(0), op.const(0.0, TensorProto.FLOAT), op.const(255.0, TensorProto.FLOAT)
    low = op.Min(op.ReduceMin(x, keepdims=0), zero)
    high = op.Max(op.ReduceMax(x, keepdims=0), zero)
    extent = op.Sub(high, low)
    is_zero = op.Not(op.Greater(extent, zero))
    filler = op.Mul(op.Cast(is_zero, to=TensorProto.FLOAT), largest)
    scale = op.Div(op.Add(extent, filler), largest, output=node.output(1))
    point = op.QuantizeLinear(op.Neg(low), scale, output=node.output(2))
    node.become.QuantizeLinear(x, scale, point, opset=10)
    node.drop_output(2)
    node.drop_output(1)


# The arithmetic.


def _quantize(node: Node, block: int = 0, precision: int = TensorProto.FLOAT) -> None:
    """Let the node divide first. Then it quantizes with a scale of 1 and its one zero point, or where it has many, rounds."""
    kind = _quantized_type(node)
    saturate = node.attr("saturate") if kind in _FLOAT8 else None
    only_zero = _only_zero_point(node, kind)
    quotient, zero = _quotient(node, block, precision)
    if only_zero and (node.written_for >= 21 or kind not in _SIXTEEN_BITS):
        one = _cast(node, node.op.const(1.0, TensorProto.FLOAT), precision)
        node.become.QuantizeLinear(quotient, one, only_zero, saturate=saturate)
    elif kind in RANGES:
        zero = _cast(node, zero, TensorProto.FLOAT)
        become_saturated(node, _cast(node, quotient, TensorProto.FLOAT), zero, kind)
    else:
        raise Unconvertible(f"quantizing to {type_name(kind)} by several zero points needs a newer QuantizeLinear")


def _quantized_type(node: Node) -> int:
    """The type to which the node quantizes."""
    return node.need_elem_type(_ZERO) if node.has_input(_ZERO) else TensorProto.UINT8


def _quotient(node: Node, block: int, precision: int) -> tuple[str, str]:
    """x / scale in the type `precision`, and the zero point in a shape that broadcasts to it, or "" where it is 0."""
    if node.need_elem_type(_SCALE) not in _DIVIDED_IN:
        raise Unconvertible(f"the scale '{node.input(_SCALE)}' is not a floating-point number", "cast it to float")
    for index in (0, _SCALE):
        _cast_input(node, index, precision)
    data, scale, zero = _broadcast(node, block)
    return node.op.Div(data, scale), zero


def _dequantize(node: Node, block: int = 0) -> None:
    """Let the node be (x - zero) * scale, rounded once to the type of the scale.

    The difference of 8-bit integers is exact in float16, and that of 16-bit ones in float.
    """
    op = node.op
    source, kind = node.need_elem_type(), node.need_elem_type(_SCALE)
    exact = kind if kind == TensorProto.FLOAT16 and source in _EIGHT_BITS else TensorProto.FLOAT
    _cast_input(node, _SCALE, exact)
    data, scale, zero = _broadcast(node, block)
    if zero and source == TensorProto.INT32:
        data, zero = op.Sub(data, zero), ""
    data = _cast(node, data, exact)
    if zero:
        data = op.Sub(data, _cast(node, zero, exact))
    if exact == kind:
        node.become.Mul(data, scale)
    else:
        node.become.Cast(op.Mul(data, scale), to=kind)


def _only_zero_point(node: Node, kind: int) -> str:
    """The zero point as a scalar of type `kind`, where it is one number; else ""."""
    if not shifts(node, _ZERO):
        return _zeros(node, (), kind)
    if node.rank(_ZERO) == 0:
        return node.input(_ZERO)
    known = known_zero_point(node, _ZERO)
    if known is None or not (known == known.flat[0]).all():
        return ""
    return node.op.const(known.flat[0], known.dtype)


# Shapes.


def _broadcast(node: Node, block: int) -> _Operands:
    """x, scale and zero point in shapes that broadcast; `block` is the length of a block, or 0 where there are none.

    Where blocks fill the axis it becomes two, one of the blocks and one within them. Else each index gets the scale of its block.
    """
    indices = [_SCALE, _ZERO] if shifts(node, _ZERO) else [_SCALE]
    if not block:
        names = [along_axis(node, index) for index in indices]
    else:
        axis = _blocked_axis(node)
        form = _in_two_axes(node, axis, block)
        names = [_of_each_block(node, index, axis, block if form is None else 0) for index in indices]
        if form is not None:
            _reshape_around(node, form)
    return _Operands(node.input(0), names[0], names[1] if len(names) > 1 else "")


def _in_two_axes(node: Node, axis: int, block: int) -> list[int] | None:
    """The shape of x with `axis` as two axes, the second one `block` long; None where Reshape cannot say it."""
    form = _shape_to_reshape(node)
    if form is None or form[axis] == -1 or form[axis] % block:
        return None
    return [*form[:axis], form[axis] // block, block, *form[axis + 1 :]]


def _of_each_block(node: Node, index: int, axis: int, ragged: int) -> str:
    """Input `index` with an axis of 1 for what is within a block; or where that is `ragged`, repeated for each index of x."""
    op = node.op
    if not ragged:
        return op.Unsqueeze(node.input(index), op.int64([axis + 1]))
    return op.Gather(node.input(index), _block_of_each(node, axis, ragged), axis=axis)


def _block_of_each(node: Node, axis: int, block: int) -> str:
    """For each index of x along `axis`, the number of its block, as int64."""
    op = node.op
    size = node.dimension(axis)
    if isinstance(size, int):
        return op.int64([index // block for index in range(size)])
    indices = count_up(node, op.int64([0]), length(node, node.input(0), axis), op.int64([1]))
    return op.Div(indices, op.int64(block))
