"""Scatter became ScatterElements in opset 11, which accepts negative indices. Reductions came with 16 and 18, ScatterND with 11.

Below opset 9, which introduced Scatter, a Gather takes each element from the data or from the updates.
https://onnx.ai/onnx/operators/onnx__ScatterElements.html, https://onnx.ai/onnx/operators/onnx__ScatterND.html,
https://onnx.ai/onnx/operators/onnx__Scatter.html
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Dimension, Node, Operators
from .shared.axes import add_rank, require_axis
from .shared.flat_indices import (
    flattened,
    index_depth,
    indices_from_the_front,
    places_along_other_axes,
    row_places,
    stored_places,
)
from .shared.indices import length, wrapped
from .shared.loops import Body, Step, Typed, repeat
from .shared.tables import arange, index_grid
from .shared.typed import ANY_FLOATING, type_name

_MOST_COMPARED = 1 << 22
"""The number of comparisons between a position in the data and the position of an update, over all pairs."""
_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
"""The operator of each reduction."""
_NOT_COMBINED = (TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128)
"""Types that Scatter can move, but that no operator of `_COMBINE` supports."""
_MAX_STEPS = 64
"""The largest number of updates that are written out one after the other, with five or six nodes for each; more need a Loop."""


@upgrade("Scatter", 11)
def scatter_to_scatter_elements(node: Node) -> None:
    """Scatter is renamed to ScatterElements."""
    node.become.ScatterElements(*node.inputs, axis=node.attr("axis"))


@decompose("ScatterElements", opset=10)
def scatter_elements_to_scatter(node: Node) -> None:
    """ScatterElements is renamed to Scatter; the length of the axis is added to negative indices, the rank to a negative axis."""
    add_rank(node, "axis")
    axis = node.attr("axis", 0)
    data, indices, updates = node.inputs
    known = node.constant(1)
    if known is None:
        indices = wrapped(node, indices, node.need_elem_type(1), length(node, data, axis, "scalar"))
    elif (known < 0).any():
        size = node.need_dimension(axis)
        kind = known.dtype if size <= 2**31 else np.int64
        indices = node.op.const(known.astype(np.int64) + (known < 0) * size, kind)
    node.become.Scatter(data, indices, updates, axis=axis)


@downgrade("ScatterElements", 18)
@downgrade("ScatterElements", 16)
def reduce_elements_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks is written out along the axis, one update after the other; many take a Loop."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    axis = node.attr("axis", 0)
    _, indices, updates = node.inputs

    def step(op: Operators, data: str, position: str) -> str:
        index = op.Gather(indices, position, axis=axis)
        update = op.Gather(updates, position, axis=axis)
        combined = _combined(node, op, combine, op.GatherElements(data, index, axis=axis), update)
        return op.ScatterElements(data, index, combined, axis=axis)

    _write_steps(node, node.dimension(axis, 1), length(node, indices, axis, "scalar"), step)


@downgrade("ScatterND", 18)
@downgrade("ScatterND", 16)
def reduce_slices_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks is written out, one update after the other; many take a Loop."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    (rows, slices), count, times = _in_rows(node)

    def step(op: Operators, data: str, position: str) -> str:
        index = op.Gather(rows, position, axis=0)
        update = op.Gather(slices, position, axis=0)
        combined = _combined(node, op, combine, op.GatherND(data, index), update)
        return op.ScatterND(data, index, combined)

    _write_steps(node, count, times, step)


def _in_rows(node: Node) -> tuple[tuple[str, str], int | None, str]:
    """The indices and the updates of a ScatterND, one after the other along the first axis; their number, and it as a scalar."""
    op, outer, depth = node.op, node.need_rank(1) - 1, index_depth(node)
    lengths = [each for axis in range(outer) if isinstance(each := node.dimension(axis, 1), int)]
    count = prod(lengths) if len(lengths) == outer else None
    if outer == 1:
        return (node.input(1), node.input(2)), count, length(node, node.input(1), 0, "scalar")
    rows = op.Reshape(node.input(1), op.int64([-1 if count is None else count, depth]))
    first = op.int64([count]) if count is not None else op.Shape(rows, end=1, opset=15)
    sizes = [length(node, node.input(2), outer + axis) for axis in range(node.need_rank() - depth)]
    slices = op.Reshape(node.input(2), op.Concat(first, *sizes, axis=0) if sizes else first, opset=14, allowzero=1)
    return (rows, slices), count, op.Reshape(first, op.int64([]))


def _write_steps(node: Node, count: Dimension, times: str, step: Callable[[Operators, str, str], str]) -> None:
    """Put the data after `count` steps in place of the node, in a Loop if they are many, or `times`, a scalar, is known at run time
    alone. A step is given where its nodes go, the data, and its number, a vector of one.
    """
    data = node.input(0)
    if isinstance(count, int) and count <= _MAX_STEPS:
        for number in range(count):
            data = step(node.op, data, node.op.int64([number]))
        node.become.Identity(data)
        return

    def turn(body: Body, carried: list[str]) -> Step:
        number = body.op.Reshape(body.number, body.op.int64([1]))
        return Step(body.op.Identity(body.go_on), [step(body.op, carried[0], number)])

    node.caution("each of its updates takes a turn of a Loop, which may copy all of the data")
    always = node.op.const(True, np.bool_)  # without a condition, onnx.reference takes no turn
    node.become.Identity(repeat(node, times, always, [Typed(data, node.need_elem_type())], turn)[0])


_CHOOSES = {"max": "Greater", "min": "Less"}
"""The comparison by which a reduction chooses one of two elements."""


def _missing_reduction(node: Node) -> str | None:
    """The operator that combines two elements, if the older form lacks the reduction; else None."""
    reduction = node.attr("reduction", "none")
    known = ("none",) if node.written_for < 16 else ("none", "add", "mul")
    if reduction in known:
        return None
    kind = node.need_elem_type()
    if kind in _NOT_COMBINED:
        name = type_name(kind)
        raise Unconvertible(f"reduction={reduction} of {name}, which {_COMBINE[reduction]} does not take")
    return _COMBINE[reduction]


def _combined(node: Node, op: Operators, combine: str, present: str, update: str) -> str:
    """Both elements combined. Of NaN and a number, onnxruntime takes the update for the maximum and for the minimum, as here."""
    comparison = _CHOOSES.get(node.attr("reduction"))
    if comparison is None or node.elem_type() not in ANY_FLOATING:
        return getattr(op, combine)(present, update)
    return op.Where(getattr(op, comparison)(present, update), present, update)


@decompose("ScatterND", opset=10)
def scatter_rows(node: Node) -> None:
    """The node becomes a ScatterElements of the rows, element by element, along the flattened data."""
    op = node.op
    rank, depth, data = node.need_rank(), index_depth(node), node.input(0)
    inner = prod(node.need_dimension(axis) for axis in range(depth, rank))
    rows = op.Reshape(row_places(node, depth), op.int64([-1, 1]))
    starts = op.Mul(rows, op.int64(inner))
    places = op.Add(starts, op.int64(arange(inner).tolist()))
    flat = [flattened(node, name) for name in (data, places, node.input(2))]
    scattered = op.Scatter(*flat, axis=0)
    node.become.Reshape(scattered, op.Shape(data), opset=14, allowzero=1)


@decompose("Scatter", opset=8)
def gather_updated(node: Node) -> None:
    """The node becomes a Gather of each element from the flattened data with the updates appended."""
    shape, updates = node.need_shape(), node.need_shape(1)
    if 0 in shape or 0 in updates:
        node.become.Identity(node.input(0))
        return
    axis, known = node.attr("axis", 0), node.constant(1)
    require_axis(axis, len(shape))
    axis %= len(shape)
    if known is None:
        places = _updated_at_run_time(node, axis, shape, updates)
    else:
        places = _updated(node, axis, shape, known.astype(np.int64))
    both = node.op.Concat(flattened(node, node.input(0)), flattened(node, node.input(2)), axis=0)
    node.become.Gather(both, places, axis=0)


def _updated(node: Node, axis: int, shape: tuple[int, ...], indices: np.ndarray) -> str:
    """The positions that the result gathers from, for constant `indices`."""
    places = arange(prod(shape)).reshape(shape)
    if indices.min() < -shape[axis] or indices.max() >= shape[axis]:
        raise Unconvertible(f"the indices '{node.input(1)}' are out of range")
    grid = list(index_grid(indices.shape))
    grid[axis] = indices
    places[tuple(grid)] = prod(shape) + arange(indices.size).reshape(indices.shape)
    return stored_places(node, places)


def _updated_at_run_time(node: Node, axis: int, shape: tuple[int, ...], updates: tuple[int, ...]) -> str:
    """The positions that the result gathers from.

    Every position is compared with that of every update, and the last match counts.
    """
    op = node.op
    size, count = prod(shape), prod(updates)
    if size * count > _MOST_COMPARED:
        raise Unconvertible(
            f"the indices '{node.input(1)}' are computed at run time, and {count} updates of {size} elements are too many"
        )
    indices = indices_from_the_front(node, 1, op.int64(shape[axis]))
    along = op.Mul(indices, op.int64(prod(shape[axis + 1 :])))
    targets = op.Add(along, places_along_other_axes(node, node.input(1), axis, len(shape)))
    there = op.int64(arange(size).reshape(-1, 1))
    is_there = op.Equal(flattened(node, targets), there)
    is_there = op.Cast(is_there, to=TensorProto.FLOAT)
    numbered = op.Mul(is_there, op.const(arange(1, count + 1), np.float32))
    last = op.ReduceMax(numbered, axes=[1], keepdims=0)
    number = op.Cast(last, to=TensorProto.INT64)
    is_updated = op.Cast(last, to=TensorProto.BOOL)
    is_updated = op.Cast(is_updated, to=TensorProto.INT64)
    way = op.Add(number, op.int64((size - 1 - arange(size)).tolist()))
    moved = op.Mul(way, is_updated)
    places = op.Add(moved, op.int64(arange(size).tolist()))
    return op.Reshape(places, op.int64(list(shape)))
