"""QuantizeLinear and DequantizeLinear: one scale in all (opset 10), one for each index of an axis (13), half precision (19), one
for each block (21), mixed types (23). DynamicQuantizeLinear came with opset 11.

y = saturate(round(x / scale) + zero point), and back y = (x - zero point) * scale. What an older version does not support keeps its
form where possible: blocks along the last axis become rows with a scale each, and values that Div has divided are quantized with a
scale of 1. Everything else is written out as arithmetic.
https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html,
https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from ..rewriter.opsets.facts import Kind, Work, of
from .shared.axes import require_axis
from .shared.rounding import FLOAT8
from .shared.saturating import RANGES, become_saturated
from .shared.scales import along_axis, of_each_index, require_finite_scale
from .shared.typed import type_name
from .shared.zero_points import known_zero_point, shifts

_SCALE, _ZERO = 1, 2
"""The positions of the scale and the zero point in the inputs."""
_HALF = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
_DIVIDED_IN = (TensorProto.FLOAT, *_HALF)
"""The types in which a quotient is rounded to an integer."""
_HAS_LINEAR = 10
"""The opset that brought QuantizeLinear and DequantizeLinear."""
_NATIVE = (TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32)
"""The types that DequantizeLinear has had from its first version on."""
_EIGHT_BITS = (TensorProto.UINT8, TensorProto.INT8)
_SIXTEEN_BITS = (TensorProto.UINT16, TensorProto.INT16)
_FEW_BITS = RANGES.keys() - {*_EIGHT_BITS, *_SIXTEEN_BITS}


class _Operands(NamedTuple):
    """The names of x, the scale, and the zero point ("" where it is 0), in shapes that broadcast."""

    data: str
    scale: str
    zero: str


# 23: types that differ.


@upgrade("QuantizeLinear", 23)
def keep_dividing_in_float(node: Node) -> None:
    """Half precision gets precision=FLOAT: before opset 23, x is divided in float; from 23 on, in the type of the scale."""
    if node.need_elem_type(_SCALE) in _HALF:
        node.set_attr("precision", int(TensorProto.FLOAT))


@downgrade("QuantizeLinear", 23)
def divide_in_one_type(node: Node) -> None:
    """x and the scale are cast to the type in which they are divided; half precision is divided by a separate Div."""
    precision = node.pop_attr("precision", 0) or node.need_elem_type(_SCALE)
    if precision in _HALF:
        node.rounds = node.target < 19  # onnxruntime drops the rounding of the quotient where it is cast to float
        _give_zero_point(node, of_scale=False)
        _quantize(node, node.pop_attr("block_size", 0), precision)
        return
    if precision != TensorProto.FLOAT and node.need_elem_type() != node.need_elem_type(_SCALE):
        raise Unconvertible(f"'{node.input(0)}' is divided in {type_name(precision)}, which is new in opset 23")
    for index in (0, _SCALE):
        _cast_input(node, index, precision)


@downgrade("DequantizeLinear", 23)
def multiply_in_output_type(node: Node) -> None:
    """output_dtype is removed: where it is not the type of the scale, the product is computed in float and cast."""
    kind = node.pop_attr("output_dtype", 0)
    if kind not in (0, node.need_elem_type(_SCALE)):
        _dequantize_in_float(node, kind)


def _cast_input(node: Node, index: int, kind: int) -> None:
    """Cast input `index` to the type `kind`, unless it has that type."""
    if node.need_elem_type(index) != kind:
        node.set_input(index, _cast(node, node.input(index), kind))


def _cast(node: Node, name: str, kind: int) -> str:
    """`name`, cast to the type `kind`; "" stays ""."""
    return name and node.op.Cast(name, to=kind)


def _dequantize_in_float(node: Node, kind: int) -> None:
    """Let the node multiply by its scale in float, and cast the product to `kind`, because runtimes also round only once."""
    _cast_input(node, _SCALE, TensorProto.FLOAT)
    if kind != TensorProto.FLOAT:
        output = node.output(0)
        node.after.Cast(node.detach_output(0, "product"), output=output, to=kind)


# 21: blocks, integers of 16 bits, and an output type without a zero point.


@upgrade("DequantizeLinear", 21)
def keep_loading_in_onnxruntime(node: Node) -> None:
    """Signed 8-bit integers whose real numbers are moved lose a zero point of 0; with another one, they become 16-bit integers.

    onnxruntime 1.32 quantizes what is moved once more, by the same zero point, and does not load what it wrote from opset 21 on.
    """
    zero = known_zero_point(node, _ZERO)
    if zero is None or node.need_elem_type() != TensorProto.INT8:
        return
    if all(_are_quantized(node, output) for output in _moved(node)):
        return
    if not zero.any():
        node.drop_input(_ZERO)
    elif zero.size == 1:
        node.set_input(0, _cast(node, node.input(0), TensorProto.INT16))
        node.set_input(_ZERO, node.op.const(zero, TensorProto.INT16))


def _moved(node: Node) -> list[str]:
    """What nodes make that move the output, or whose first input onnxruntime reshapes for a Gemm of MatMul and Add.

    Nothing where x is stored: onnxruntime moves stored integers themselves.
    """
    found: list[str] = []
    for reader in () if _is_stored(node) else node.graph.readers(node.output(0)):
        fact, outputs = of(reader.op_type, reader.domain), [name for name in reader.output if name]
        moves = fact.kind is Kind.MOVES or (fact.kind is Kind.POOLS and fact.work is Work.ORDERS)
        if moves or (reader.op_type == "MatMul" and _is_reshaped(node, reader)):
            found += outputs
    return found


def _is_stored(node: Node) -> bool:
    """Whether x is the same in every run because the model stores it, or elements that become x."""
    name, maker = node.input(0), node.maker(0)
    while maker is not None and of(maker.op_type).only_moves_first:
        if any(name and maker.constant(name) is None for name in maker.inputs[1:]):
            return False
        name, maker = maker.input(0), maker.maker(0)
    return node.graph.tensor(name) is not None or (maker is not None and maker.op_type == "Constant")


def _is_reshaped(node: Node, product: NodeProto) -> bool:
    """Whether onnxruntime makes a Gemm of the MatMul `product` and an Add, and a matrix of the output, which is its first input."""
    is_first = product.input[0] == node.output(0) and node.rank(node.output(0)) != 2
    return is_first and any(reader.op_type == "Add" for reader in node.graph.readers(product.output[0]))


def _are_quantized(node: Node, name: str) -> bool:
    """Whether only QuantizeLinear reads the value."""
    readers = node.graph.readers(name)
    return not node.graph.is_output(name) and all(reader.op_type == "QuantizeLinear" for reader in readers)


@downgrade("QuantizeLinear", 21)
def quantize_blocks(node: Node) -> None:
    """output_dtype becomes a zero point; blocks become rows, or, for 16-bit results, are written out as arithmetic."""
    block = node.pop_attr("block_size", 0)
    keeps_form = not block or _are_in_rows(node, block)
    _give_zero_point(node, of_scale=keeps_form)
    if not keeps_form or _quantized_type(node) in _SIXTEEN_BITS:
        _quantize(node, block)
    elif block:
        _make_rows(node, block)


@downgrade("DequantizeLinear", 21)
def dequantize_blocks(node: Node) -> None:
    """Blocks become rows, or, for 16-bit integers, are written out; those from a QuantizeLinear are multiplied as int32.

    Signed 8-bit integers that are not stored get the zero point 0, if they have none.
    """
    block, is_wide = node.pop_attr("block_size", 0), node.need_elem_type() in _SIXTEEN_BITS
    if block and not is_wide and _are_in_rows(node, block):
        if node.need_elem_type() == TensorProto.INT8 and not node.has_input(_ZERO):
            _state_zero_point(node, TensorProto.INT8, of_scale=True)
        _make_rows(node, block)
    elif is_wide and not block and (steps := _quantized_steps(node)):
        _dequantize_steps(node, steps)
    elif block or is_wide:
        _dequantize(node, block)
    elif node.need_elem_type() == TensorProto.INT8 and not node.has_input(_ZERO) and not _is_stored(node):
        _state_zero_point(node, TensorProto.INT8, of_scale=True)  # onnxruntime would quantize what is moved to uint8


def _quantized_steps(node: Node) -> str:
    """The whole numbers in float from which x was made by adding the node's only zero point, saturating and casting; else "".

    `become_saturated` writes these nodes for a QuantizeLinear to 16 bits.
    """
    zero = _one_zero_point(node) if shifts(node, _ZERO) else 0
    if zero is None or node.need_elem_type(_SCALE) != TensorProto.FLOAT:
        return ""
    (number,) = _inputs_of(node, "Cast", node.input(0)) or [""]
    saturated, *bounds = _inputs_of(node, "Clip", number) or [""]
    steps, *added = _inputs_of(node, "Add", saturated) or [saturated]
    expected = [*RANGES[node.need_elem_type()], *([int(zero)] if zero else [])]
    found = [node.constant(name) for name in (*bounds, *added)]
    if (
        any(value is None or value.size != 1 for value in found)
        or [value.item() for value in found if value is not None] != expected
    ):
        return ""
    return steps if _inputs_of(node, "Round", steps) else ""


def _inputs_of(node: Node, op_type: str, name: str) -> list[str]:
    """The inputs of the node that makes `name` if it is an `op_type`; otherwise none."""
    maker = node.maker(name)
    return maker.inputs if maker is not None and maker.op_type == op_type else []


def _dequantize_steps(node: Node, steps: str) -> None:
    """Let the node multiply `steps` as int32 without a zero point, saturated where the sum with the zero point would be.

    They are multiplied by a Mul: behind a DequantizeLinear of int32, onnxruntime would quantize what is moved to uint8.
    """
    zero = _one_zero_point(node)
    shift = 0 if zero is None else int(zero)
    bounds = [node.op.const(bound - shift, TensorProto.FLOAT) for bound in RANGES[node.need_elem_type()]]
    whole = _cast(node, node.op.Clip(steps, *bounds), TensorProto.INT32)
    node.become.Mul(_cast(node, whole, TensorProto.FLOAT), along_axis(node, _SCALE))


def _give_zero_point(node: Node, *, of_scale: bool) -> None:
    """Turn output_dtype into a zero point of that type with value 0, in the shape of the scale or as a scalar, if there is none."""
    kind = node.pop_attr("output_dtype", 0)
    if not node.has_input(_ZERO) and kind not in (0, TensorProto.UINT8):
        _state_zero_point(node, kind, of_scale=of_scale)


def _state_zero_point(node: Node, kind: int, *, of_scale: bool) -> None:
    """Give the node a zero point of this type with value 0, in the shape of the scale or as a scalar."""
    shape = node.shape(_SCALE) if of_scale else ()
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        node.set_input(_ZERO, _zeros(node, node.need_shape(_SCALE) if of_scale else (), kind))
        return
    one_zero = helper.make_tensor("zero", kind, [1], bytes(2 if kind in _SIXTEEN_BITS else 1), raw=True)
    node.set_input(_ZERO, node.op.ConstantOfShape(node.op.Shape(node.input(_SCALE)), value=one_zero))


def _zeros(node: Node, shape: tuple[int, ...], kind: int) -> str:
    """A constant of zeros of any type, since the bytes of zeros are 0 in all types."""
    if kind in (*_EIGHT_BITS, *_SIXTEEN_BITS):
        return node.op.const(np.zeros(shape), kind)
    size = prod(shape) if kind in FLOAT8 else -(-prod(shape) // 2)
    return node.add_tensor(helper.make_tensor(node.fresh_name("zero_point"), kind, shape, bytes(size), raw=True))


def _are_in_rows(node: Node, block: int) -> bool:
    """Whether each block has `block` elements that follow each other in memory, and Reshape can express these as rows."""
    shape = _shape_to_reshape(node)
    if shape is None:
        return False
    blocked, *behind = shape[_blocked_axis(node) :]
    return blocked != -1 and blocked % block == 0 and all(dim == 1 for dim in behind)


def _shape_to_reshape(node: Node) -> list[int] | None:
    """The shape of x for Reshape, with -1 for one unknown dimension; None where Reshape cannot express it.

    A dimension of 0 has another meaning in Reshape, and runtimes cannot reshape 8-bit floats.
    """
    shape = node.shape()
    if shape is None or 0 in shape or not FLOAT8.isdisjoint((node.need_elem_type(), node.elem_type(node.output(0)))):
        return None
    form = [dim if isinstance(dim, int) else -1 for dim in shape]
    return form if form.count(-1) <= 1 else None


def _blocked_axis(node: Node) -> int:
    """The axis along which there are blocks, not negative. Raises Unconvertible where x does not have this axis."""
    axis, rank = node.attr("axis", 1), node.need_rank()
    require_axis(axis, rank)
    return axis % rank


def _make_rows(node: Node, block: int) -> None:
    """Turn each block into a row of a matrix, with a scale for each index of its first axis."""
    _reshape_around(node, [-1, block])
    for index in (_SCALE, _ZERO):
        if node.has_input(index):
            node.set_input(index, node.op.Reshape(node.input(index), node.op.int64([-1])))
    node.set_attr("axis", 0)


def _reshape_around(node: Node, form: list[int]) -> None:
    """Let the node work on its first input in the shape `form`, and reshape the result back to the shape
    from `_shape_to_reshape`.
    """
    op = node.op
    back = op.int64(_shape_to_reshape(node) or [])
    node.set_input(0, op.Reshape(node.input(0), op.int64(form)))
    output = node.output(0)
    node.after.Reshape(node.detach_output(0, "blocks"), back, output=output)


# 19: half precision, float8, and one type for x and the scale until 22.


@upgrade("QuantizeLinear", 19)
def cast_to_type_of_scale(node: Node) -> None:
    """Integer x is cast to the type of the scale, in which it is divided."""
    _cast_input(node, 0, node.need_elem_type(_SCALE))


@downgrade("QuantizeLinear", 19)
def quantize_half_precision(node: Node) -> None:
    """saturate, which is for 8-bit floats, is removed; half precision is cast to float, in which runtimes divide it."""
    if node.elem_type(node.output(0)) not in FLOAT8:
        node.pop_attr("saturate")
    if node.need_elem_type() in _HALF:
        _cast_input(node, 0, TensorProto.FLOAT)
        _cast_input(node, _SCALE, TensorProto.FLOAT)


@downgrade("DequantizeLinear", 19)
def dequantize_half_precision(node: Node) -> None:
    """Half precision is multiplied in float, and the product is cast."""
    kind = node.need_elem_type(_SCALE)
    if kind in _HALF:
        _dequantize_in_float(node, kind)


# 13: one scale per axis.


@downgrade("QuantizeLinear", 13)
def quantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector with one scale becomes a scalar."""
    if _is_per_tensor(node):
        _make_scalar(node)
    else:
        _quantize(node)


@downgrade("DequantizeLinear", 13)
def dequantize_along_axis(node: Node) -> None:
    """A scale for each index of an axis is written out as arithmetic; a vector with one scale becomes a scalar."""
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
    """Turn scale and zero point, vectors of one, into scalars, which opset 10 requires."""
    node.pop_attr("axis")
    for index in (_SCALE, _ZERO):
        if node.has_input(index) and node.need_rank(index) == 1:
            node.set_input(index, node.op.Squeeze(node.input(index), axes=[0], opset=10))


# 10: below it, all is arithmetic.


@decompose("QuantizeLinear", opset=11)
def round_and_clip(node: Node) -> None:
    """The node, with a single scale, becomes saturate(round(x / scale) + zero point)."""
    quotient, zero = _quotient(node, 0, TensorProto.FLOAT)
    become_saturated(node, quotient, _cast(node, zero, TensorProto.FLOAT), _quantized_type(node))


@decompose("DequantizeLinear", opset=9)
def subtract_and_scale(node: Node) -> None:
    """The node, with a single scale, becomes (x - zero point) * scale."""
    _dequantize(node)


@decompose("DynamicQuantizeLinear", opset=10)
def quantize_by_extremes(node: Node) -> None:
    """Scale and zero point are computed from the minimum and maximum of the data, and used by a QuantizeLinear.

    The zero point is -low / scale, rounded and saturated, which QuantizeLinear does. If all data is zero, the scale is 1, as in
    onnxruntime; ONNX's function body divides zero by zero there. A quotient that is NaN, because the scale is infinite or too small
    for a number, gives 255 in runtimes.
    """
    op = node.op
    x, zero, largest = node.input(0), op.const(0.0, TensorProto.FLOAT), op.const(255.0, TensorProto.FLOAT)
    low = op.Min(op.ReduceMin(x, keepdims=0), zero)
    high = op.Max(op.ReduceMax(x, keepdims=0), zero)
    extent = op.Sub(high, low)
    is_zero = op.Not(op.Greater(extent, zero))
    filler = op.Mul(op.Cast(is_zero, to=TensorProto.FLOAT), largest)
    scale = op.Div(op.Add(extent, filler), largest, output=node.output(1))
    quotient = op.Div(op.Neg(low), scale)
    below = op.Where(op.IsNaN(quotient), largest, quotient)
    point = op.QuantizeLinear(below, op.const(1.0, TensorProto.FLOAT), output=node.output(2))
    node.become.QuantizeLinear(x, scale, point, opset=10)
    node.drop_output(2)
    node.drop_output(1)


# The arithmetic.


def _quantize(node: Node, block: int = 0, precision: int = TensorProto.FLOAT) -> None:
    """Divide before the node, which then quantizes with a scale of 1 and its only zero point; with several
    zero points, write it out.
    """
    kind = _quantized_type(node)
    saturate = node.attr("saturate") if kind in FLOAT8 else None
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
    require_finite_scale(node, _SCALE)
    for index in (0, _SCALE):
        _cast_input(node, index, precision)
    data, scale, zero = _broadcast(node, block)
    return node.op.Div(data, scale), zero


def _dequantize(node: Node, block: int = 0) -> None:
    """Turn the node into (x - zero) * scale, rounded once to the type of the scale.

    The difference of 8-bit integers is exact in float16, that of 16-bit integers in float. Numbers that a DequantizeLinear with the
    scale 1 can make real are not cast: onnxruntime would fold stored weights, and quantize them anew, with one scale for all.
    """
    op = node.op
    require_finite_scale(node, _SCALE)
    source, kind = node.need_elem_type(), node.need_elem_type(_SCALE)
    exact = kind if kind == TensorProto.FLOAT16 and source in _EIGHT_BITS else TensorProto.FLOAT
    _cast_input(node, _SCALE, exact)
    data, scale, zero = _broadcast(node, block)
    if zero and source == TensorProto.INT32:
        data, zero = op.Sub(data, zero), ""
    is_native = node.written_for >= _HAS_LINEAR and source in _NATIVE and exact == TensorProto.FLOAT
    is_native = is_native and node.graph.may_write("DequantizeLinear")
    data = op.DequantizeLinear(data, op.const(1.0, exact), opset=_HAS_LINEAR) if is_native else _cast(node, data, exact)
    if zero:
        data = op.Sub(data, _cast(node, zero, exact))
    if exact == kind:
        node.become.Mul(data, scale)
    else:
        node.become.Cast(op.Mul(data, scale), to=kind)


def _only_zero_point(node: Node, kind: int) -> str:
    """The zero point as a scalar of type `kind`, if it is a single number; else ""."""
    if not shifts(node, _ZERO):
        return _zeros(node, (), kind)
    if node.rank(_ZERO) == 0:
        return node.input(_ZERO)
    number = _one_zero_point(node)
    return "" if number is None else node.op.const(number, number.dtype)


def _one_zero_point(node: Node) -> np.generic | None:
    """The zero point, if it is known and a single number; else None."""
    known = known_zero_point(node, _ZERO)
    return None if known is None or not (known == known.flat[0]).all() else known.flat[0]


# Shapes.


def _broadcast(node: Node, block: int) -> _Operands:
    """x, scale and zero point in shapes that broadcast. `block` is the length of a block, or 0 where there are none.

    Where the axis divides into full blocks, it becomes two axes: blocks, and elements of a block. Otherwise, the scale is repeated
    for each index.
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
    """The shape of x with `axis` split into two axes, the second of length `block`; None where Reshape cannot express it."""
    form = _shape_to_reshape(node)
    if form is None or form[axis] == -1 or form[axis] % block:
        return None
    return [*form[:axis], form[axis] // block, block, *form[axis + 1 :]]


def _of_each_block(node: Node, index: int, axis: int, ragged: int) -> str:
    """Input `index` with an axis of length 1 for the elements of a block; if `ragged`, repeated for each index of x instead."""
    op = node.op
    if not ragged:
        return op.Unsqueeze(node.input(index), op.int64([axis + 1]))
    name = node.input(index)
    if node.need_elem_type(index) in _FEW_BITS:
        name = _cast(node, name, TensorProto.FLOAT)  # Gather does not take it
    return of_each_index(node, name, axis, ragged)
