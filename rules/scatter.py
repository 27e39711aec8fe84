"""Scatter became ScatterElements in opset 11, which takes negative indices; reductions came with 16 and 18. ScatterND came with 11.

Below opset 9, where Scatter is new, a Gather takes each element from the data or from the updates.
https://onnx.ai/onnx/operators/onnx__ScatterElements.html, https://onnx.ai/onnx/operators/onnx__ScatterND.html,
https://onnx.ai/onnx/operators/onnx__Scatter.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose, downgrade, upgrade
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.axes import add_rank, require_axis
from .shared.flat_indices import (
    flattened,
    index_depth,
    indices_from_the_front,
    places_along_other_axes,
    row_places,
    stored_places,
)
from .shared.indices import int64, length, wrapped
from .shared.tables import arange, index_grid
from .shared.typed import type_name

_MOST_COMPARED = 1 << 22
"""Comparisons of a place in the data with the place of an update, over all pairs."""
_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
"""The operator of each reduction."""
_NOT_COMBINED = (TensorProto.BOOL, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128)
"""Types that Scatter moves, and that no operator of `_COMBINE` takes."""
_MAX_STEPS = 64
"""Updates that are written out one after the other, at five nodes each."""


@upgrade("Scatter", 11)
def scatter_to_scatter_elements(node: Node) -> None:
    """Scatter is called ScatterElements."""
    node.become("ScatterElements", node.inputs, axis=node.attr("axis"))


@decompose("ScatterElements", opset=10)
def scatter_elements_to_scatter(node: Node) -> None:
    """ScatterElements is called Scatter; a negative axis and negative indices get the length added."""
    add_rank(node, "axis")
    axis = node.attr("axis", 0)
    data, indices, updates = node.inputs
    known = node.constant(1)
    if known is None:
        indices = wrapped(node, indices, node.need_elem_type(1), length(node, data, axis, "scalar"))
    elif (known < 0).any():
        size = node.need_dimension(axis)
        indices = node.add_constant(known + (known < 0) * known.dtype.type(size), known.dtype, "indices")
    node.become("Scatter", [data, indices, updates], axis=axis)


@downgrade("ScatterElements", 18)
@downgrade("ScatterElements", 16)
def reduce_elements_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks is written out along the axis, one update after the other."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    axis = node.attr("axis", 0)
    data, indices, updates = node.inputs
    for step in range(_require_few(node, node.need_dimension(axis, 1))):
        position = int64(node, [step], "step")
        index = node.before("Gather", [indices, position], what="index", axis=axis)
        update = node.before("Gather", [updates, position], what="update", axis=axis)
        present = node.before("GatherElements", [data, index], what="present", axis=axis)
        combined = node.before(combine, [present, update], what="combined")
        data = node.before("ScatterElements", [data, index, combined], what="reduced", axis=axis)
    node.become("Identity", [data])


@downgrade("ScatterND", 18)
@downgrade("ScatterND", 16)
def reduce_slices_step_by_step(node: Node) -> None:
    """A reduction that the older form lacks is written out, one update after the other."""
    combine = _missing_reduction(node)
    if combine is None:
        return
    data, indices, updates = node.inputs
    shape, rank = node.need_shape(1), node.need_rank()
    steps = _require_few(node, int(np.prod(shape[:-1])))
    slice_rank = rank - shape[-1]
    rows = node.before("Reshape", [indices, int64(node, [steps, shape[-1]], "rows")], what="rows")
    slices = node.before("Reshape", [updates, _row_shape(node, len(shape) - 1, steps, slice_rank)], what="slices")
    for step in range(steps):
        position = int64(node, [step], "step")
        index = node.before("Gather", [rows, position], what="index", axis=0)
        update = node.before("Gather", [slices, position], what="update", axis=0)
        present = node.before("GatherND", [data, index], what="present")
        combined = node.before(combine, [present, update], what="combined")
        data = node.before("ScatterND", [data, index, combined], what="reduced")
    node.become("Identity", [data])


def _row_shape(node: Node, outer: int, steps: int, slice_rank: int) -> str:
    """[steps, the dimensions of one slice], as a constant or computed from the updates."""
    sizes = [length(node, node.input(2), outer + axis) for axis in range(slice_rank)]
    parts = [int64(node, [steps], "steps"), *sizes]
    return parts[0] if len(parts) == 1 else node.before("Concat", parts, what="slices", axis=0)


def _missing_reduction(node: Node) -> str | None:
    """The operator that combines two elements, where the older form does not know the reduction; else None."""
    reduction = node.attr("reduction", "none")
    known = ("none",) if node.written_for < 16 else ("none", "add", "mul")
    if reduction in known:
        return None
    if reduction not in _COMBINE:
        raise Unconvertible(f"reduction={reduction} has no meaning")
    kind = node.need_elem_type()
    if kind in _NOT_COMBINED:
        name = type_name(kind)
        raise Unconvertible(f"reduction={reduction} of {name}, which {_COMBINE[reduction]} does not take")
    return _COMBINE[reduction]


def _require_few(node: Node, steps: int) -> int:
    """`steps`. Raises Unconvertible where they are too many to be written out."""
    if steps > _MAX_STEPS:
        reduction = node.attr("reduction")
        raise Unconvertible(f"reduction={reduction} of {steps} updates would take {5 * steps} nodes in older operators")
    return steps


@decompose("ScatterND", opset=10)
def scatter_rows(node: Node) -> None:
    """The rows are scattered element by element along the flattened data."""
    rank, depth, data = node.need_rank(), index_depth(node), node.input(0)
    inner = prod(node.need_dimension(axis) for axis in range(depth, rank))
    rows = node.before("Reshape", [row_places(node, depth), int64(node, [-1, 1], "column")], what="rows")
    starts = node.before("Mul", [rows, int64(node, inner, "row")], what="starts")
    places = node.before("Add", [starts, int64(node, arange(inner).tolist(), "in_row")], what="places")
    flat = [flattened(node, name) for name in (data, places, node.input(2))]
    scattered = node.before("Scatter", flat, what="scattered", axis=0)
    node.become("Reshape", [scattered, node.before("Shape", [data], what="shape")])


@decompose("Scatter", opset=8)
def gather_updated(node: Node) -> None:
    """A Gather takes each element from the flattened data, or from the updates, which are put behind it."""
    shape, updates = node.need_shape(), node.need_shape(1)
    if 0 in shape or 0 in updates:
        node.become("Identity", [node.input(0)])
        return
    axis, known = node.attr("axis", 0), node.constant(1)
    require_axis(axis, len(shape))
    axis %= len(shape)
    if known is None:
        places = _updated_at_run_time(node, axis, shape, updates)
    else:
        places = _updated(node, axis, shape, known.astype(np.int64))
    both = node.before("Concat", [flattened(node, node.input(0)), flattened(node, node.input(2))], what="both", axis=0)
    node.become("Gather", [both, places], axis=0)


def _updated(node: Node, axis: int, shape: tuple[int, ...], indices: np.ndarray) -> str:
    """The places that the result gathers from, for constant `indices`."""
    places = arange(prod(shape)).reshape(shape)
    if indices.min() < -shape[axis] or indices.max() >= shape[axis]:
        raise Unconvertible(f"the indices '{node.input(1)}' are out of range")
    grid = list(index_grid(indices.shape))
    grid[axis] = indices
    places[tuple(grid)] = prod(shape) + arange(indices.size).reshape(indices.shape)
    return stored_places(node, places, "places")


def _updated_at_run_time(node: Node, axis: int, shape: tuple[int, ...], updates: tuple[int, ...]) -> str:
    """The places that the result gathers from, computed: every place is compared with that of every update, and the last one
    counts.
    """
    size, count = prod(shape), prod(updates)
    if size * count > _MOST_COMPARED:
        raise Unconvertible(
            f"the indices '{node.input(1)}' are computed at run time, and {count} updates of {size} elements are too many"
        )
    indices = indices_from_the_front(node, 1, int64(node, shape[axis], "length"))
    along = node.before("Mul", [indices, int64(node, prod(shape[axis + 1 :]), "stride")], what="along")
    targets = node.before("Add", [along, places_along_other_axes(node, node.input(1), axis, len(shape))], what="targets")
    there = node.add_constant(arange(size).reshape(-1, 1), np.int64, "places")
    is_there = node.before("Equal", [flattened(node, targets), there], what="is_there")
    is_there = node.before("Cast", [is_there], what="is_there", to=TensorProto.FLOAT)
    numbered = node.before("Mul", [is_there, node.add_constant(arange(1, count + 1), np.float32, "numbers")], what="numbered")
    last = node.before("ReduceMax", [numbered], what="last", axes=[1], keepdims=0)
    number = node.before("Cast", [last], what="number", to=TensorProto.INT64)
    is_updated = node.before("Cast", [last], what="is_updated", to=TensorProto.BOOL)
    is_updated = node.before("Cast", [is_updated], what="is_updated", to=TensorProto.INT64)
    way = node.before("Add", [number, int64(node, (size - 1 - arange(size)).tolist(), "way")], what="way")
    moved = node.before("Mul", [way, is_updated], what="moved")
    places = node.before("Add", [moved, int64(node, arange(size).tolist(), "own")], what="places")
    return node.before("Reshape", [places, int64(node, list(shape), "shape")], what="places")
