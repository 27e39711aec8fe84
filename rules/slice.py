"""Slice: starts, ends and axes are attributes until opset 9 and inputs from 10 on, which adds steps; 11 adds negative axes.

https://onnx.ai/onnx/operators/onnx__Slice.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, numpy_helper

from ..rewriter.engine.registry import downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import MAKE_CONSTANT, Node
from .shared.axes import from_the_front
from .shared.indices import count_up, double, is_never_negative, length, position, wrapped
from .shared.parameters import known_input, known_ints, to_input

_STARTS, _ENDS, _AXES, _STEPS = 1, 2, 3, 4
"""The positions in the inputs, from opset 10 on."""
_NAMES = {_AXES: "axes", _STEPS: "steps"}
"""The names of the inputs that are not bounds, in messages."""
_END = 2**53
"""An end after the last element of any axis, which a Constant of any opset can hold."""


@upgrade("Slice", 10)
def bounds_to_inputs(node: Node) -> None:
    """The attributes starts, ends and axes become inputs."""
    for index, name in ((_STARTS, "starts"), (_ENDS, "ends"), (_AXES, "axes")):
        to_input(node, name, index)
    _name_cut_dimensions(node)


@downgrade("Slice", 11)
def axes_from_the_front(node: Node) -> None:
    """The rank is added to negative axes."""
    _name_cut_dimensions(node)
    axes = known_ints(node, "axes", _AXES)
    if axes is None and node.has_input(_AXES):
        _add_rank_at_run_time(node)
    elif axes is not None and any(axis < 0 for axis in axes):
        dtype = np.int32 if node.elem_type(_AXES) == TensorProto.INT32 else np.int64
        node.set_input(_AXES, node.op.const(from_the_front(axes, node.need_rank()), dtype))


@downgrade("Slice", 10)
def bounds_to_attributes(node: Node) -> None:
    """Constant bounds become attributes; an axis with a step other than 1, or with computed bounds, is gathered."""
    computed = next((at for at in _NAMES if node.has_input(at) and known_input(node, at) is None), None)
    if computed is not None:
        node.explain(f"its {_NAMES[computed]} '{node.input(computed)}' are computed at run time", MAKE_CONSTANT)
        _gather_each_axis(node)
        return
    axes = _known_axes(node)
    starts, ends = known_ints(node, "starts", _STARTS), known_ints(node, "ends", _ENDS)
    steps = known_ints(node, "steps", _STEPS) or [1] * len(axes)
    for name, values in (("starts", starts), ("ends", ends), ("steps", steps)):
        if values is not None and len(values) != len(axes):
            raise Unconvertible(f"{name} has {len(values)} entries for {len(axes)} values", "correct the model")
    if starts is not None and ends is not None and all(step == 1 for step in steps):
        if axes:
            node.become.Slice(node.input(0), starts=starts, ends=ends, axes=axes)
        else:
            node.become.Identity(node.input(0))
        return
    if starts is None or ends is None:
        computed = node.input(_STARTS if starts is None else _ENDS)
        node.explain(f"its bounds '{computed}' are computed at run time", MAKE_CONSTANT)
    data = node.input(0)
    for index, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        start, end = (None if known is None else known[index] for known in (starts, ends))
        if start is not None and end is not None:
            data = _take(node, data, axis, start, end, step)
        else:
            chosen = _chosen_at_run_time(node, index, length(node, data, axis), step)
            data = node.op.Gather(data, chosen, axis=axis)
    node.become.Identity(data)


def positions(start: int, end: int, step: int, dimension: int) -> list[int]:
    """The positions that a Slice takes from an axis of length `dimension`, by Slice-13.

    Negative bounds count from the end, and are then limited to the axis. One case differs from Python: a start before the first
    element means the first element, also with a negative step. Raises Unconvertible where runtimes disagree: INT_MAX as the end of
    a backward slice.
    """
    _require_end(end, step)
    start, end = (bound + dimension if bound < 0 else bound for bound in (start, end))
    lowest_end, last = (0, dimension) if step > 0 else (-1, dimension - 1)
    return list(range(min(max(start, 0), last), min(max(end, lowest_end), last), step))


def _require_end(end: int, step: int) -> None:
    """Raises Unconvertible where runtimes disagree about a constant end: INT_MAX, if the slice goes backward."""
    if step < 0 and end in (np.iinfo(np.int32).max, np.iinfo(np.int64).max):
        raise Unconvertible("INT_MAX as the end of a backward slice is read in different ways", "use INT_MIN as the end")


def _name_cut_dimensions(node: Node) -> None:
    """State the shape of the result of a Slice of opset 10, unless it is converted further.

    For this form only, onnx infers that a dimension keeps its symbol when it is cut. onnxruntime then uses the same memory for
    values of different sizes, and fails.
    """
    shape = node.shape()
    if shape is not None and not all(isinstance(dim, int) for dim in shape) and node.target == 10:
        node.graph.name_dimensions(node.output(0))


def _gather_each_axis(node: Node) -> None:
    """Write the Slice as a Gather along each axis, at computed positions, for axes or steps that are only known at run time."""
    op = node.op
    data, rank = node.input(0), node.need_rank()
    axes = _known_axes(node) if not node.has_input(_AXES) or known_input(node, _AXES) is not None else None
    for axis in range(rank) if axes is None else axes:
        which = op.int64([axes.index(axis)]) if axes is not None else _place_among_axes(node, axis)
        start, end, step = (_bound(node, at, default, which) for at, default in ((_STARTS, 0), (_ENDS, _END), (_STEPS, 1)))
        backward = op.Less(op.Cast(step, to=TensorProto.DOUBLE), double(node, [0.0]))
        end = _read_as_onnxruntime(node, end, backward)
        backward = op.Neg(op.Cast(backward, to=TensorProto.DOUBLE))
        size = length(node, data, axis)
        first, limit = position(node, start, size, 0, backward), position(node, end, size, backward, backward)
        data = op.Gather(data, count_up(node, first, limit, step), axis=axis)
    node.become.Identity(data)


def _place_among_axes(node: Node, axis: int) -> str:
    """The position of `axis` in the input axes, or the position after the last. In opset 10, runtimes accept negative axes too."""
    op = node.op
    axes = op.Cast(node.input(_AXES), to=TensorProto.INT64)
    counts = (axis, axis - node.need_rank())
    is_it = op.Or(*([op.Equal(axes, op.int64([count])) for count in counts]))
    is_it = op.Cast(is_it, to=TensorProto.FLOAT)
    found = op.Concat(is_it, op.const([1], np.float32), axis=0)
    return op.ArgMax(found, axis=0, keepdims=1)


def _bound(node: Node, at: int, default: int, which: str) -> str:
    """Entry `which` of input `at` with `default` appended, as int64."""
    op = node.op
    rest = op.int64([default])
    if not node.has_input(at):
        return rest
    given = op.Cast(node.input(at), to=TensorProto.INT64)
    given = op.Concat(given, rest, axis=0)
    return op.Gather(given, which, axis=0)


def _known_axes(node: Node) -> list[int]:
    """The axes that are sliced. Raises Unconvertible where not even their number is known."""
    axes = known_ints(node, "axes", _AXES)
    if axes is not None:
        return axes
    starts = known_ints(node, "starts", _STARTS)
    count = node.dimension(0, _STARTS) if starts is None else len(starts)
    if not isinstance(count, int):
        reason = f"the number of the starts '{node.input(_STARTS)}' is known at run time only"
        raise Unconvertible(reason, node.shape_hint())
    return list(range(count))


def _take(node: Node, data: str, axis: int, start: int, end: int, step: int) -> str:
    """`data` from a constant start to a constant end along `axis`."""
    op = node.op
    if step == 1:
        return op.Slice(data, starts=[start], ends=[end], axes=[axis])
    dimension = node.dimension(axis)
    if isinstance(dimension, int):
        chosen = op.int64(positions(start, end, step, dimension))
    else:
        _require_end(end, step)
        first, limit = (op.int64([bound]) for bound in (start, end))
        chosen = _count(node, first, limit, length(node, data, axis), step)
    return op.Gather(data, chosen, axis=axis)


def _chosen_at_run_time(node: Node, index: int, size: str, step: int) -> str:
    """The positions that entry `index` of the bounds takes from an axis of length `size`."""
    start, end = (_entry(node, at, index) for at in (_STARTS, _ENDS))
    if step == 1 and node.target >= 9:
        return _places_between(node, start, end, size)
    return _count(node, start, end, size, step)


def _entry(node: Node, at: int, index: int) -> str:
    """Entry `index` of the bounds in input `at`, as int64."""
    op = node.op
    if node.dimension(0, at) == 1:
        entry = node.input(at)
    else:
        entry = op.Gather(node.input(at), op.int64([index]), axis=0)
    return entry if node.need_elem_type(at) == TensorProto.INT64 else op.Cast(entry, to=TensorProto.INT64)


def _places_between(node: Node, start: str, end: str, size: str) -> str:
    """The positions of an axis of length `size` that are at or after `start`, and before `end`.

    Bounds beyond the axis need no special treatment: all positions are before or after them.
    """
    op = node.op
    start, end = (
        bound if is_never_negative(node, bound) else wrapped(node, bound, TensorProto.INT64, size) for bound in (start, end)
    )
    ones = op.ConstantOfShape(size, value=numpy_helper.from_array(np.ones(1, np.int64)))
    places = op.NonZero(ones)
    is_taken = op.And(op.Not(op.Less(places, start)), op.Less(places, end))
    return op.Gather(op.NonZero(is_taken), op.int64(1), axis=0)


def _count(node: Node, start: str, end: str, size: str, step: int) -> str:
    """The positions that a Slice takes from an axis of length `size`, computed at run time."""
    lowest_end, beyond = (0, 0) if step > 0 else (-1, -1)
    if step < 0:
        end = _read_as_onnxruntime(node, end)
    first = position(node, start, size, 0, beyond)
    limit = position(node, end, size, lowest_end, beyond)
    return count_up(node, first, limit, node.op.int64([step]))


def _read_as_onnxruntime(node: Node, end: str, backward: str = "") -> str:
    """The end of a slice (a vector of one int64) that goes backward, always or where `backward` is true: INT_MAX, which the
    specification limits to the last element, stands for the beginning of the axis in onnxruntime.
    """
    if node.chosen_meaning == "specification":
        return end
    op = node.op
    if node.chosen_meaning is None:
        node.caution(
            "INT_MAX (or more than 2^62) as the end of a backward slice counts as the beginning of the axis, as in onnxruntime"
        )
    is_large = op.Greater(op.Cast(end, to=TensorProto.DOUBLE), double(node, [2.0**62]))  # int64 is not stored below opset 9
    is_max = op.Or(op.Equal(end, op.int64([np.iinfo(np.int32).max])), is_large)
    is_max = op.And(is_max, backward) if backward else is_max
    as_number = op.Cast(is_max, to=TensorProto.INT64)
    others = op.Mul(end, op.Sub(op.int64([1]), as_number))
    return op.Add(others, op.Mul(as_number, op.int64([-_END])))


def _add_rank_at_run_time(node: Node) -> None:
    """Add the rank to negative axes at run time."""
    node.explain(f"its axes '{node.input(_AXES)}' are computed at run time", MAKE_CONSTANT)
    rank = node.op.int64(node.need_rank())
    node.set_input(_AXES, wrapped(node, node.input(_AXES), node.need_elem_type(_AXES), rank))
