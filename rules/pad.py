"""Pad: pads and value are attributes until opset 10 and inputs from 11 on; 18 adds the input axes, 19 the mode wrap.

A Pad that the older form cannot express is written out axis by axis: constant mode by Concat, other modes by a Gather.
https://onnx.ai/onnx/operators/onnx__Pad.html
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.graph.node import MAKE_CONSTANT, Node, Operators
from .shared.axes import from_the_front
from .shared.crops import may_cut_what_is_added, require_crops_within
from .shared.indices import choose, count_up, double, length
from .shared.parameters import axes_of, known_ints, one_number, to_attribute, to_input
from .shared.tables import arange
from .shared.typed import FLOATING

_PADS, _VALUE, _AXES = 1, 2, 3
"""The positions in the inputs, from opset 11 on (axes: 18)."""
_MAX_FILL = 65_536
"""The number of elements of the largest constant block of padding; a larger block is made at run time."""


@upgrade("Pad", 2)
def paddings_to_pads(node: Node) -> None:
    """The attribute paddings is renamed to pads."""
    node.set_attr("pads", node.pop_attr("paddings"))


@upgrade("Pad", 11)
def pads_to_input(node: Node) -> None:
    """The attributes pads and value become inputs."""
    to_input(node, "pads", _PADS)
    value = node.pop_attr("value", 0.0)
    if value != 0 or math.copysign(1, value) < 0:
        dtype = helper.tensor_dtype_to_np_dtype(node.need_elem_type())
        node.set_input(_VALUE, node.op.const(value, dtype))


@downgrade("Pad", 19)
def wrap_by_gather(node: Node) -> None:
    """Mode wrap becomes a Gather of positions along each axis."""
    if node.attr("mode", "constant") == "wrap":
        _spell_out_axes(node)
        _pad_axis_by_axis(node)


@downgrade("Pad", 18)
def pads_of_all_axes(node: Node) -> None:
    """The input axes is removed: pads gets two entries for every axis."""
    _spell_out_axes(node)


@downgrade("Pad", 13)
def pad_strings_axis_by_axis(node: Node) -> None:
    """Strings and complex numbers are padded axis by axis, since Pad accepts no wider type for them."""
    if node.elem_type() in (TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        _pad_axis_by_axis(node)


@downgrade("Pad", 11)
def pads_to_attribute(node: Node) -> None:
    """Constant pads of floating-point data become attributes; any other Pad is written out axis by axis with Concat or Gather."""
    value = node.constant(_VALUE) if node.has_input(_VALUE) else np.zeros((), np.float32)
    pads = known_ints(node, "pads", _PADS)
    if pads is None or value is None or node.need_elem_type() not in FLOATING or not _is_float32(value):
        _pad_axis_by_axis(node)
        return
    given = node.has_input(_VALUE)
    node.drop_input(_VALUE)
    to_attribute(node, _PADS, "pads", "pads")
    if given:
        node.set_attr("value", float(one_number(value)))


@downgrade("Pad", 2)
def pads_to_paddings(node: Node) -> None:
    """The attribute pads is renamed to paddings; negative numbers, which paddings cannot be, become a Slice."""
    pads = node.pop_attr("pads")
    node.set_attr("paddings", [max(pad, 0) for pad in pads])
    if min(pads, default=0) >= 0:
        return
    rank = len(pads) // 2
    sides = [(axis, pads[axis], pads[axis + rank]) for axis in range(rank)]
    if node.attr("mode", "constant") != "constant":
        require_crops_within(node, pads)
    elif any(may_cut_what_is_added(node.dimension(axis), before, after) for axis, before, after in sides):
        _crop_result(node, sides)
        return
    data = node.input(0)
    for axis, before, after in sides:
        data = _crop(node.op, data, axis, before, after)
    node.set_input(0, data)


def _crop_result(node: Node, sides: list[tuple[int, int, int]]) -> None:
    """Remove from the result what negative pads remove: `sides` has an axis, and the pads before and after it."""
    output = node.output(0)
    data = node.detach_output(0, "padded")
    *others, last = [entry for entry in sides if min(entry[1:]) < 0]
    for entry in others:
        data = _crop(node.after, data, *entry)
    _crop(node.after, data, *last, output=output)


def _is_float32(value: np.ndarray) -> bool:
    """Whether `value` is one number that a float attribute holds exactly."""
    number = value.reshape(-1).astype(np.float64)
    return number.size == 1 and (np.isnan(number[0]) or float(np.float32(number[0])) == number[0])


def _spell_out_axes(node: Node) -> None:
    """Replace the input axes by pads for all axes: in each half, the entry of an axis, or 0."""
    op = node.op
    if not node.has_input(_AXES):
        node.drop_input(_AXES)
        return
    rank, axes, pads = node.need_rank(), axes_of(node, _AXES), known_ints(node, "pads", _PADS)
    if axes is None:
        _spread_at_run_time(node, rank)
        return
    where = {axis: index for index, axis in enumerate(from_the_front(axes, rank))}
    zero = 2 * len(axes)
    source = [where.get(axis, zero) for axis in range(rank)]
    source += [where[axis] + len(axes) if axis in where else zero for axis in range(rank)]
    if pads is not None:
        spread = op.int64([[*pads, 0][index] for index in source])
    else:
        extended = op.Concat(node.input(_PADS), op.int64([0]), axis=0)
        spread = op.Gather(extended, op.int64(source), axis=0)
    node.drop_input(_AXES)
    node.set_input(_PADS, spread)


def _spread_at_run_time(node: Node, rank: int) -> None:
    """Replace axes that are only known at run time by pads for all axes.

    The specification leaves open what happens if an axis is given twice; here, as in runtimes, the last pads count.
    """
    op = node.op
    rows = op.int64([2, -1])
    pads = op.Reshape(node.input(_PADS), rows)
    axes = op.Concat(*([node.input(_AXES)] * 2), axis=0)
    axes = op.Reshape(axes, rows)
    zeros = op.int64(np.zeros((2, rank), np.int64))
    spread = op.ScatterElements(zeros, axes, pads, axis=1)
    node.drop_input(_AXES)
    node.set_input(_PADS, op.Reshape(spread, op.int64([-1])))


# Axis by axis.


class _Amount(NamedTuple):
    """By how much one side of an axis grows (or shrinks, if negative): a number, or the name of a vector of one int64."""

    known: int | None
    name: str

    def vector(self, node: Node) -> str:
        """The amount as a vector of one int64."""
        return self.name if self.known is None else node.op.int64([self.known])


def _pad_axis_by_axis(node: Node) -> None:
    """Write the Pad as a Concat or a Gather along each axis that it changes."""
    rank, pads = node.need_rank(), known_ints(node, "pads", _PADS)
    mode = node.attr("mode", "constant")
    if pads is None:
        node.explain(f"its pads '{node.input(_PADS)}' are computed at run time", MAKE_CONSTANT)
    elif mode != "constant":
        require_crops_within(node, pads)
    data = node.input(0)
    for axis in range(rank):
        before, after = (_amount(node, pads, index) for index in (axis, axis + rank))
        if before.known == after.known == 0:
            continue
        if mode == "constant":
            data = _concat_fills(node, data, axis, before, after)
        else:
            data = _gather_positions(node, data, axis, before, after, mode)
    node.become.Identity(data)


def _amount(node: Node, pads: list[int] | None, index: int) -> _Amount:
    """Entry `index` of the pads, known or computed."""
    if pads is not None:
        return _Amount(pads[index], "")
    which = node.op.int64([index])
    return _Amount(None, node.op.Gather(node.input(_PADS), which, axis=0))


def _crop(op: Operators, data: str, axis: int, before: int, after: int, output: str = "") -> str:
    """`data` without what negative pads remove, by a Slice in the form of opset 9 and before."""
    if before >= 0 and after >= 0:
        return data
    end = after if after < 0 else int(np.iinfo(np.int64).max)
    return op.Slice(data, starts=[max(-before, 0)], ends=[end], axes=[axis], output=output)


def _concat_fills(node: Node, data: str, axis: int, before: _Amount, after: _Amount) -> str:
    """`data` padded along `axis` with blocks of the constant value. What negative pads remove may be a part of these blocks."""
    is_cut_last = may_cut_what_is_added(node.dimension(axis), before.known, after.known)
    if not is_cut_last:
        data = _slice_off(node, data, axis, before, after)
    fills = [_fill(node, data, axis, amount) for amount in (before, after)]
    parts = [part for part in (fills[0], data, fills[1]) if part]
    data = node.op.Concat(*parts, axis=axis) if len(parts) > 1 else data
    return _slice_off(node, data, axis, before, after) if is_cut_last else data


def _slice_off(node: Node, data: str, axis: int, before: _Amount, after: _Amount) -> str:
    """`data` without what negative pads remove."""
    op = node.op
    if all(amount.known is not None and amount.known >= 0 for amount in (before, after)):
        return data
    start = _negative_part(node, before)
    end = op.Sub(length(node, data, axis), _negative_part(node, after))
    return op.Slice(data, start, end, op.int64([axis]), opset=10)


def _negative_part(node: Node, amount: _Amount) -> str:
    """The number of removed elements: max(-amount, 0), a vector of one."""
    if amount.known is not None:
        return node.op.int64([max(-amount.known, 0)])
    return node.op.Sub(_positive_part(node, amount), amount.name)


def _positive_part(node: Node, amount: _Amount) -> str:
    """The number of added elements: max(amount, 0), a vector of one."""
    op = node.op
    if amount.known is not None:
        return op.int64([max(amount.known, 0)])
    as_float = op.Cast(amount.name, to=TensorProto.FLOAT)
    positive = op.Greater(as_float, op.const([0], np.float32))
    factor = op.Cast(positive, to=TensorProto.INT64)
    return op.Mul(amount.name, factor)


def _fill(node: Node, data: str, axis: int, amount: _Amount) -> str:
    """A block of padding that fits `data` along all axes except `axis`; "" where nothing is added."""
    op = node.op
    if amount.known is not None and amount.known <= 0:
        return ""
    value = node.constant(_VALUE) if node.has_input(_VALUE) else _zero(node)
    shape = node.shape(data)
    if value is not None and amount.known is not None and shape is not None:
        sizes = [amount.known if index == axis else dim for index, dim in enumerate(shape)]
        known = [size for size in sizes if isinstance(size, int)]
        if len(known) == len(sizes) and np.prod(known, dtype=object) <= _MAX_FILL:
            block = np.full(known, value.reshape(-1)[0], value.dtype)
            return op.const(block, block.dtype)
    name = node.input(_VALUE) if value is None else op.const(one_number(value), value.dtype)
    rank = node.need_rank()
    others = op.int64([int(index != axis) for index in range(rank)])
    here = op.int64([int(index == axis) for index in range(rank)])
    kept = op.Mul(op.Shape(data), others)
    grown = op.Mul(_positive_part(node, amount), here)
    return op.Expand(name, op.Add(kept, grown))


def _zero(node: Node) -> np.ndarray:
    """A zero of the data's type; for strings, the empty string."""
    kind = node.need_elem_type()
    return np.array("", object) if kind == TensorProto.STRING else np.zeros((), helper.tensor_dtype_to_np_dtype(kind))


def _gather_positions(node: Node, data: str, axis: int, before: _Amount, after: _Amount, mode: str) -> str:
    """Pad with mode edge, reflect or wrap: each element of the result is an element of `data`, at a computed position.

    The specification does not say whether negative pads shrink the axis before the rest is padded; runtimes do it in this order.
    """
    dimension = node.dimension(axis)
    if before.known is not None and after.known is not None and isinstance(dimension, int):
        chosen = node.op.int64(_positions(before.known, after.known, dimension, mode))
    else:
        if mode != "edge":  # an edge is the same either way
            data = _slice_off(node, data, axis, before, after)
            before, after = _grown(node, before), _grown(node, after)
        chosen = _positions_at_run_time(node, before, after, length(node, data, axis), mode)
    return node.op.Gather(data, chosen, axis=axis)


def _grown(node: Node, amount: _Amount) -> _Amount:
    """The amount, or 0 where it is negative."""
    return _Amount(None, _positive_part(node, amount)) if amount.known is None else _Amount(max(amount.known, 0), "")


def _positions(before: int, after: int, dimension: int, mode: str) -> list[int]:
    """The position in the data of each element of the padded axis."""
    first = max(-before, 0)
    rest = dimension - first - max(-after, 0)
    wanted = arange(-max(before, 0), rest + max(after, 0))
    if mode == "edge":
        return (first + np.clip(wanted, 0, rest - 1)).tolist()
    if mode == "wrap":
        return (first + wanted % max(rest, 1)).tolist()
    period = max(2 * (rest - 1), 1)
    return (first + np.minimum(wanted % period, period - wanted % period) * (rest > 1)).tolist()


def _positions_at_run_time(node: Node, before: _Amount, after: _Amount, size: str, mode: str) -> str:
    """As `_positions`, computed when the model runs."""
    op = node.op
    first = op.Sub(op.int64([0]), before.vector(node))
    limit = op.Add(size, after.vector(node))
    wanted = count_up(node, first, limit, op.int64([1]))
    last = op.Sub(size, op.int64([1]))
    if mode == "edge":
        return _clamp(node, wanted, last)
    if mode == "wrap":
        return _modulo(node, wanted, size)
    # A mirrored axis repeats after 2 · last elements; of an axis of one element, everything is a copy.
    period = op.Add(last, last)
    is_one = op.Equal(period, op.int64([0]))
    period = op.Add(period, op.Cast(is_one, to=TensorProto.INT64))
    there = _modulo(node, wanted, period)
    back = op.Sub(period, there)
    at, mirrored = (op.Cast(value, to=TensorProto.DOUBLE) for value in (there, back))
    nearer = choose(node, op.Less(mirrored, at), mirrored, at)
    return _clamp(node, op.Cast(nearer, to=TensorProto.INT64), last)


def _clamp(node: Node, wanted: str, last: str) -> str:
    """`wanted`, limited to 0 at least and `last` at most."""
    op = node.op
    at, end = (op.Cast(value, to=TensorProto.DOUBLE) for value in (wanted, last))
    zero = double(node, [0.0])
    at = choose(node, op.Less(at, zero), zero, at)
    at = choose(node, op.Greater(at, end), end, at)
    return op.Cast(at, to=TensorProto.INT64)


def _modulo(node: Node, wanted: str, period: str) -> str:
    """`wanted` modulo `period`, never negative, whichever way Div rounds."""
    op = node.op
    rounds = op.Div(wanted, period)
    rest = op.Sub(wanted, op.Mul(rounds, period))
    as_float = op.Cast(rest, to=TensorProto.FLOAT)
    negative = op.Less(as_float, op.const([0], np.float32))
    as_number = op.Cast(negative, to=TensorProto.INT64)
    return op.Add(rest, op.Mul(as_number, period))
