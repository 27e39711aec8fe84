"""Writes out a Resize whose sizes or scales are computed at run time: the positions along each axis are computed, too.

The formulas are computed in float, as onnxruntime does, so that the same elements are taken.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node

_FLOAT, _INT64 = TensorProto.FLOAT, TensorProto.INT64
_MODES = ("nearest", "linear")
_COORDINATES = ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners")
_TIE = 1e-6
"""How far from the middle between two elements onnxruntime counts a position as being there."""


class Manner(NamedTuple):
    """How elements are found: `mode`, `coordinates` and, for mode nearest, `rounding`, all by the names of the attributes.

    The rounding "as_10" is that of opset 10: down, or up along an axis that shrinks.
    """

    mode: str
    coordinates: str
    rounding: str


class _Axis(NamedTuple):
    """The names of three vectors of one float: the length of an axis, its length in the result, and the scale."""

    length: str
    resized: str
    scale: str


def is_computable(manner: Manner) -> bool:
    """Whether a Resize of this manner can be written out although its sizes are not known."""
    return manner.mode in _MODES and manner.coordinates in _COORDINATES


def resize_at_run_time(node: Node, manner: Manner, *, sizes: str = "", scales: str = "") -> None:
    """Write the node as Gathers along its axes, whose `sizes` or `scales` are computed. The nodes are those of opset 9."""
    kind, rank = node.need_elem_type(), node.need_rank()
    if manner.mode != "nearest" and kind not in (_FLOAT, TensorProto.DOUBLE):
        raise Unconvertible(f"mode {manner.mode} of this type is rounded in ways that differ", "cast the input to float")
    if manner.mode == "nearest":
        node.caution("its sizes are computed at run time: positions between two elements are rounded as onnxruntime does, in float")
    op = node.op
    lengths = op.Cast(op.Shape(node.input(0)), to=_FLOAT)
    if sizes:
        resized = op.Cast(sizes, to=_FLOAT)
        scales = op.Div(resized, lengths)
    else:
        resized = op.Floor(op.Mul(lengths, scales))
    node.approximate = manner.mode != "nearest"
    data = node.input(0)
    for axis in range(rank):
        if sizes and _keeps_length(node, axis):
            continue
        index = op.int64([axis])
        along = _Axis(*(op.Gather(values, index, axis=0) for values in (lengths, resized, scales)))
        data = _resampled(node, data, axis, rank, _places(node, along, manner.coordinates), along, manner)
    node.give(data)


def _keeps_length(node: Node, axis: int) -> bool:
    """Whether the result is known to have the same length along the axis."""
    before, after = node.proven_shape(node.input(0)), node.shape(node.output(0))
    return before is not None and after is not None and before[axis] is not None and before[axis] == after[axis]


def _places(node: Node, along: _Axis, coordinates: str) -> str:
    """The position in the data of each element of the result along an axis."""
    op = node.op
    ones = op.ConstantOfShape(op.Cast(along.resized, to=_INT64), value=helper.make_tensor("", _FLOAT, [1], [1.0]))
    number = op.Cast(op.Reshape(op.NonZero(ones), op.int64([-1])), to=_FLOAT)
    half, one = op.const(0.5, np.float32), op.const(1, np.float32)
    if coordinates == "asymmetric":
        return op.Div(number, along.scale)
    if coordinates == "align_corners":
        steps = op.Max(op.Sub(along.resized, one), one)  # of a single element the number is 0
        return op.Div(op.Mul(number, op.Sub(along.length, one)), steps)
    place = op.Div(op.Add(number, half), along.scale)
    place = op.Sub(place, half)
    if coordinates == "pytorch_half_pixel":
        place = op.Mul(place, op.Cast(op.Greater(along.resized, one), to=_FLOAT))
    return place


def _resampled(node: Node, data: str, axis: int, rank: int, place: str, along: _Axis, manner: Manner) -> str:
    """The elements of `data` at the positions `place` along the axis, or between them."""
    op = node.op
    zero = op.const(0, np.float32)
    last = op.Sub(along.length, op.const(1, np.float32))
    if manner.mode == "nearest":
        index = op.Min(op.Max(_rounded(node, place, along, manner.rounding), zero), last)
        return op.Gather(data, op.Cast(index, to=_INT64), axis=axis)
    place = op.Min(op.Max(place, zero), last)
    before = op.Floor(place)
    after = op.Min(op.Add(before, op.const(1, np.float32)), last)
    kind, column = node.need_elem_type(), op.int64([-1 if index == axis else 1 for index in range(rank)])
    share = op.Reshape(op.Sub(place, before), column)
    share = share if kind == _FLOAT else op.Cast(share, to=kind)
    low, high = (op.Gather(data, op.Cast(index, to=_INT64), axis=axis) for index in (before, after))
    return op.Add(op.Mul(low, op.Sub(op.const(1, kind), share)), op.Mul(high, share))


def _rounded(node: Node, place: str, along: _Axis, rounding: str) -> str:
    """The positions, rounded to whole numbers."""
    op = node.op
    if rounding in ("floor", "ceil"):
        return op.Floor(place) if rounding == "floor" else op.Ceil(place)
    down = op.Floor(place)
    rest = op.Sub(place, down)  # exact, unlike the place plus a half
    if rounding == "round_prefer_floor":
        up = op.Greater(rest, op.const(0.5 + _TIE, np.float32))
    elif rounding == "round_prefer_ceil":
        up = op.Not(op.Less(rest, op.const(0.5 - _TIE, np.float32)))
    else:
        up = op.And(op.Greater(rest, op.const(0, np.float32)), op.Less(along.scale, op.const(1, np.float32)))
    return op.Add(down, op.Cast(up, to=_FLOAT))
