"""Writes out a Resize whose sizes or scales are computed at run time: the positions along each axis are computed, too.

The formulas are computed in float, as onnxruntime does, so that the same elements are taken.
https://onnx.ai/onnx/operators/onnx__Resize.html
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from onnx import TensorProto, helper

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import MAKE_CONSTANT, Node

_FLOAT, _INT64 = TensorProto.FLOAT, TensorProto.INT64
_MODES = ("nearest", "linear", "cubic")
_COORDINATES = ("half_pixel", "half_pixel_symmetric", "asymmetric", "pytorch_half_pixel", "align_corners")
_TIE = 1e-6
"""How far from the middle between two elements onnxruntime counts a position as being there."""


class Manner(NamedTuple):
    """How elements are found: `mode`, `coordinates` and, for mode nearest, `rounding`, all by the names of the attributes, and
    `coefficient` for mode cubic.

    The rounding "as_10" is that of opset 10: down, or up along an axis that shrinks.
    """

    mode: str
    coordinates: str
    rounding: str
    antialias: bool = False
    coefficient: float = -0.75


class Lengths(NamedTuple):
    """What decides the lengths in the result: `sizes` or `scales`, the name of a vector with a number for each of `axes`.

    By a `policy`, which is keep_aspect_ratio_policy, all of these axes are scaled alike.
    """

    axes: Sequence[int]
    sizes: str = ""
    scales: str = ""
    policy: str = "stretch"


class _Axis(NamedTuple):
    """The names of three vectors of one float: the length of an axis, its length in the result, and the scale."""

    length: str
    resized: str
    scale: str


def is_computable(manner: Manner) -> bool:
    """Whether a Resize of this manner can be written out although its sizes are not known."""
    has_weights = manner.mode != "cubic" or not manner.antialias
    return manner.mode in _MODES and manner.coordinates in _COORDINATES and has_weights


def may_be_copied(scales: np.ndarray, antialias: bool) -> bool:
    """Whether axes of two elements or more, scaled by `scales`, of which none is 1, may keep their lengths: all of them, or with
    antialiasing any. There, onnxruntime copies the input, whose positions the specification shifts.
    """
    keeps = (scales > 1) & (scales < 1.5)
    return bool(keeps.any() if antialias else keeps.all())


def resize_at_run_time(node: Node, manner: Manner, given: Lengths) -> None:
    """Write the node as Gathers along its axes, of which the lengths, here or in the result, are computed. The nodes are those of
    opset 9, and with antialiasing those of opset 17.
    """
    kind, rank = node.need_elem_type(), node.need_rank()
    if manner.mode != "nearest" and kind not in (_FLOAT, TensorProto.DOUBLE):
        raise Unconvertible(f"mode {manner.mode} of this type is rounded in ways that differ", "cast the input to float")
    if manner.mode == "nearest":
        node.caution("its sizes are computed at run time: positions between two elements are rounded as onnxruntime does, in float")
    node.approximate = manner.mode != "nearest"
    node.explain("its sizes or scales are computed at run time", MAKE_CONSTANT)
    data = node.input(0)
    for axis, along in _measured(node, given, rank, manner.antialias).items():
        places = _places(node, along, manner.coordinates)
        if manner.antialias:
            data = _smoothed(node, data, axis, rank, places, along)
        else:
            data = _resampled(node, data, axis, rank, places, along, manner)
    node.give(data)


def _measured(node: Node, given: Lengths, rank: int, antialias: bool) -> dict[int, _Axis]:
    """The lengths and scales of those of the axes that are not known to keep their length."""
    op = node.op
    lengths = op.Cast(op.Shape(node.input(0)), to=_FLOAT)
    if given.axes != list(range(rank)):
        lengths = op.Gather(lengths, op.int64(list(given.axes)), axis=0)
    if not given.sizes:
        resized = op.Floor(op.Mul(lengths, given.scales))
        scales = _unless_copied(node, given.scales, lengths, resized, antialias)
    else:
        resized = op.Cast(given.sizes, to=_FLOAT)
        scales = op.Div(resized, lengths)
    is_common = given.policy != "stretch" and bool(given.sizes)
    if is_common:
        scales = (op.ReduceMin if given.policy == "not_larger" else op.ReduceMax)(scales, keepdims=1)
        resized = op.Floor(op.Add(op.Mul(scales, lengths), op.const(0.5, np.float32)))
    found: dict[int, _Axis] = {}
    for number, axis in enumerate(given.axes):
        if not (given.sizes and _keeps_length(node, axis)):
            index = op.int64([number])
            length, new = (op.Gather(values, index, axis=0) for values in (lengths, resized))
            found[axis] = _Axis(length, new, scales if is_common else op.Gather(scales, index, axis=0))
    return found


def _unless_copied(node: Node, scales: str, lengths: str, resized: str, antialias: bool) -> str:
    """`scales`, but 1 where onnxruntime copies: where no length changes, or with antialiasing along each axis that keeps it."""
    op, known = node.op, node.constant(scales)
    if node.chosen_meaning == "specification" or (known is not None and not may_be_copied(known, antialias)):
        return scales
    if node.chosen_meaning is None:
        node.caution("its scales are computed at run time: where they change no length, the input is copied, as onnxruntime does")
    kept = op.Equal(op.Cast(lengths, to=_INT64), op.Cast(resized, to=_INT64))
    if not antialias:
        kept = op.Cast(op.ReduceMin(op.Cast(kept, to=_FLOAT), keepdims=1), to=TensorProto.BOOL)
    return op.Where(kept, op.const([1], np.float32), scales)


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
    if coordinates == "half_pixel_symmetric":
        center = op.Mul(along.length, half)
        adjustment = op.Div(along.resized, op.Mul(along.length, along.scale))
        place = op.Add(op.Mul(center, op.Sub(one, adjustment)), place)
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
    is_cubic = manner.mode == "cubic"
    place = place if is_cubic else op.Min(op.Max(place, zero), last)
    before = op.Floor(place)
    kind, column = node.need_elem_type(), op.int64([-1 if index == axis else 1 for index in range(rank)])
    share = op.Reshape(op.Sub(place, before), column)
    share = share if kind == _FLOAT else op.Cast(share, to=kind)
    weights = _cubic(node, share, manner.coefficient) if is_cubic else [op.Sub(op.const(1, kind), share), share]
    parts: list[str] = []
    for step, weight in enumerate(weights, start=-1 if is_cubic else 0):
        taken = op.Add(before, op.const(step, np.float32)) if step else before
        taken = op.Max(taken, zero) if is_cubic else taken
        taken = op.Min(taken, last) if step or is_cubic else taken
        parts.append(op.Mul(op.Gather(data, op.Cast(taken, to=_INT64), axis=axis), weight))
    return functools.reduce(op.Add, parts)


def _cubic(node: Node, share: str, coefficient: float) -> list[str]:
    """The weights of the four elements around a position that is `share` behind the second one: Keys' cubic convolution."""
    op, kind = node.op, node.need_elem_type()
    one = op.const(1, kind)
    rest = op.Sub(one, share)

    def polynomial(distance: str, *factors: float) -> str:
        value = op.const(factors[0], kind)
        for factor in factors[1:]:
            value = op.Mul(value, distance)
            value = op.Add(value, op.const(factor, kind)) if factor else value
        return value

    near = (coefficient + 2, -(coefficient + 3), 0, 1)
    far = (coefficient, -5 * coefficient, 8 * coefficient, -4 * coefficient)
    return [
        polynomial(op.Add(share, one), *far),
        polynomial(share, *near),
        polynomial(rest, *near),
        polynomial(op.Add(rest, one), *far),
    ]


def _smoothed(node: Node, data: str, axis: int, rank: int, place: str, along: _Axis) -> str:
    """The elements of `data` around the positions `place` along the axis, weighted by a triangle as wide as the axis shrinks.

    What lies beyond the borders is the element there. An element of weight 0 does not count, since 0 times infinity is NaN.
    """
    op = node.op
    zero, one, inner = op.const(0, np.float32), op.const(1, np.float32), op.int64([1])
    shrink = op.Min(along.scale, one)
    reach = op.Div(one, shrink)
    width = op.Floor(op.Add(op.Div(op.const(2, np.float32), shrink), one))
    column = op.Unsqueeze(place, inner)
    first = op.Ceil(op.Sub(column, reach))
    taken = op.Add(first, op.Range(zero, op.Squeeze(width, op.int64([0])), one))
    weights = op.Relu(op.Sub(one, op.Mul(op.Abs(op.Sub(taken, column)), shrink)))
    last = op.Sub(along.length, one)
    weights = op.Div(weights, op.ReduceSum(weights, inner))
    parts = op.Gather(data, op.Cast(op.Min(op.Max(taken, zero), last), to=_INT64), axis=axis)
    kind = node.need_elem_type()
    if kind != _FLOAT:
        weights = op.Cast(weights, to=kind)
    if axis < rank - 1:
        weights = op.Unsqueeze(weights, op.int64(list(range(2, rank - axis + 1))))
    nothing = op.const(0, kind)
    weighted = op.Where(op.Greater(weights, nothing), op.Mul(parts, weights), nothing)
    return op.ReduceSum(weighted, op.int64([axis + 1]), keepdims=0)


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
