"""Elements chosen by index or by condition, as one Gather from the flattened data: exact, since nothing is computed but places.

https://onnx.ai/onnx/operators/onnx__Where.html, onnx__GatherElements.html, onnx__GatherND.html, onnx__ScatterElements.html,
onnx__ScatterND.html, onnx__ReverseSequence.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from ..rewriter.graph import Node
from ..rewriter.rule import Unconvertible, decompose
from .axes import from_the_front, require_axis
from .indices import count_up, int64, length, wrapped
from .tables import arange, index_grid, require_few

_MOST_STORED = 1 << 22
"""Places that are written into the model where they could be computed as it runs: 32 MB of int64."""
_MOST_COMPARED = 1 << 22
"""Of a place and an update."""


def _flat(node: Node, name: str) -> str:
    return node.before("Reshape", [name, int64(node, [-1], "flat")], what="flat")


def _places(node: Node, array: np.ndarray, what: str) -> str:
    require_few(array.size)
    return node.add_constant(array, np.int64, what)


@decompose("Where", opset=8)
def gather_from_both(node: Node) -> None:
    """Gather from X and Y, flattened and put one behind the other, at places that the condition moves from Y to X."""
    x, y = node.input(1), node.input(2)
    of_x, of_y = _own_places(node, 1), _own_places(node, 2)
    of_y = node.before("Add", [of_y, _product(node, x, range(node.need_rank(1)))], what="places")
    both = node.before("Concat", [_flat(node, x), _flat(node, y)], what="both", axis=0)
    condition = node.before("Cast", [node.input(0)], what="condition", to=TensorProto.INT64)
    moved = node.before("Mul", [condition, node.before("Sub", [of_x, of_y], what="way")], what="moved")
    node.become("Gather", [both, node.before("Add", [moved, of_y], what="places")], axis=0)


def _own_places(node: Node, index: int) -> str:
    """For each element of input `index`, its place in the flattened data."""
    name, rank = node.input(index), node.need_rank(index)
    shape = node.scope.shape_worked_out(name) or ()
    known = [dim for dim in shape if isinstance(dim, int)]
    if len(known) == rank and prod(known) <= _MOST_STORED:
        return node.add_constant(arange(prod(known)).reshape(known), np.int64, "places")
    return _places_at_run_time(node, name, name, range(rank))


@decompose("GatherElements", opset=10)
def gather_flat(node: Node) -> None:
    """The place of an element in the flattened data: its index times the stride of the axis, plus where the rest of it is."""
    rank = node.need_rank()
    (axis,) = from_the_front([node.attr("axis", 0)], rank)
    size = length(node, node.input(0), axis, "scalar")
    indices = _from_the_front(node, 1, size)
    stride = _product(node, node.input(0), range(axis + 1, rank))
    along = node.before("Mul", [indices, stride], what="along")
    places = node.before("Add", [along, _rest(node, node.input(1), axis, rank)], what="places")
    node.become("Gather", [_flat(node, node.input(0)), places], axis=0)


def _from_the_front(node: Node, index: int, size: str) -> str:
    """Input `index`, indices, as int64 and none of them negative; `size` broadcasts to them."""
    value, bound = node.constant(index), node.scope.constant(size)
    if value is not None and ((value >= 0).all() or bound is not None):
        positive = value if bound is None else value + (value < 0) * bound
        return node.add_constant(positive, np.int64, "indices")
    indices = node.input(index)
    if node.need_elem_type(index) != TensorProto.INT64:
        indices = node.before("Cast", [indices], what="indices", to=TensorProto.INT64)
    return wrapped(node, indices, TensorProto.INT64, size)


def _product(node: Node, name: str, axes: range) -> str:
    """The number of elements along `axes` of `name`, an int64 scalar."""
    shape = node.scope.shape_worked_out(name)
    known = [] if shape is None else [dim for dim in (shape[axis] for axis in axes) if isinstance(dim, int)]
    if len(known) == len(axes):
        return int64(node, prod(known), "stride")
    sizes = node.before("Concat", [length(node, name, axis) for axis in axes], what="sizes", axis=0)
    return node.before("ReduceProd", [sizes], what="stride", axes=[0], keepdims=0)


def _rest(node: Node, indices: str, axis: int, rank: int) -> str:
    """For each element of `indices`, the place in the flattened data of the element at 0 of `axis` and where it is else."""
    data = node.input(0)
    shapes = [node.scope.shape_worked_out(name) for name in (data, indices)]
    known = [tuple(dim for dim in shape or () if isinstance(dim, int)) for shape in shapes]
    if all(len(dims) == rank for dims in known):
        strides = [prod(known[0][d + 1 :]) for d in range(rank)]
        grid = index_grid(known[1])
        return _places(node, sum(grid[d] * strides[d] for d in range(rank) if d != axis) + np.zeros(known[1]), "places")
    return _places_at_run_time(node, data, indices, [d for d in range(rank) if d != axis])


def _places_at_run_time(node: Node, data: str, counted: str, axes: Sequence[int]) -> str:
    """The places in the flattened data of its elements at 0, 1, … along `axes`, as many as `counted` has, and at 0 along others.

    Along each axis, the stride is added at every step; the result broadcasts to the shape of `counted`.
    """
    rank = len(node.scope.shape_worked_out(data) or ())
    total = int64(node, 0, "places")
    for axis in axes:
        count = count_up(node, int64(node, [0], "zero"), length(node, counted, axis), int64(node, [1], "one"))
        places = node.before("Mul", [count, _product(node, data, range(axis + 1, rank))], what="places")
        column = int64(node, [-1] + [1] * (rank - 1 - axis), "column")
        total = node.before("Add", [total, node.before("Reshape", [places, column], what="places")], what="places")
    return total


@decompose("GatherND", opset=10)
def gather_rows(node: Node) -> None:
    """The first axes of the data become one, along which Gather takes rows."""
    rank, depth, data = node.need_rank(), _depth(node), node.input(0)
    places = _row_places(node, depth)
    if depth == rank:
        node.become("Gather", [_flat(node, data), places], axis=0)
        return
    rows = node.before("Reshape", [_product(node, data, range(depth)), int64(node, [1], "vector")], what="rows")
    sizes = node.before("Concat", [rows, *(length(node, data, axis) for axis in range(depth, rank))], what="sizes", axis=0)
    node.become("Gather", [node.before("Reshape", [data, sizes], what="table"), places], axis=0)


def _depth(node: Node) -> int:
    """How many indices lead to one row."""
    depth = node.need_dimension(-1, 1)
    if depth == 0:
        raise Unconvertible("indices of length 0 take the data whole, and older operators cannot express it")
    return depth


def _row_places(node: Node, depth: int) -> str:
    """Input 1, tuples of `depth` indices along its last axis, as places along the first axes of the data merged to one."""
    data, vector = node.input(0), int64(node, [1], "vector")
    shape = node.scope.shape_worked_out(data)
    known = [dim for dim in (shape or ())[:depth] if isinstance(dim, int)]
    if len(known) == depth:
        sizes = int64(node, known, "sizes")
    else:
        sizes = node.before("Concat", [length(node, data, axis) for axis in range(depth)], what="sizes", axis=0)
    numbers = [_product(node, data, range(axis + 1, depth)) for axis in range(depth)]
    cells = [node.before("Reshape", [number, vector], what="stride") for number in numbers]
    strides = node.before("Concat", cells, what="strides", axis=0)
    weighted = node.before("Mul", [_from_the_front(node, 1, sizes), strides], what="weighted")
    return node.before("ReduceSum", [weighted], what="places", axes=[node.need_rank(1) - 1], keepdims=0)


@decompose("ScatterND", opset=10)
def scatter_rows(node: Node) -> None:
    """Scatter along the flattened data, one index for each element of the updates."""
    rank, depth, data = node.need_rank(), _depth(node), node.input(0)
    inner = prod(node.need_dimension(axis) for axis in range(depth, rank))
    rows = node.before("Reshape", [_row_places(node, depth), int64(node, [-1, 1], "column")], what="rows")
    starts = node.before("Mul", [rows, int64(node, inner, "row")], what="starts")
    places = node.before("Add", [starts, int64(node, arange(inner).tolist(), "in_row")], what="places")
    flat = [_flat(node, name) for name in (data, places, node.input(2))]
    scattered = node.before("Scatter", flat, what="scattered", axis=0)
    node.become("Reshape", [scattered, node.before("Shape", [data], what="shape")])


@decompose("Scatter", opset=8)
def gather_updated(node: Node) -> None:
    """A Gather from the flattened data with the updates behind it, where each element of the result is one of both."""
    shape, updates = node.need_shape(), node.need_shape(1)
    if 0 in shape or 0 in updates:
        node.become("Identity", [node.input(0)])
        return
    require_axis(node.attr("axis", 0), len(shape))
    known = node.constant(1)
    places = _updated_at_run_time(node, shape, updates) if known is None else _updated(node, shape, known.astype(np.int64))
    both = node.before("Concat", [_flat(node, node.input(0)), _flat(node, node.input(2))], what="both", axis=0)
    node.become("Gather", [both, places], axis=0)


def _updated(node: Node, shape: tuple[int, ...], indices: np.ndarray) -> str:
    places, axis = arange(prod(shape)).reshape(shape), node.attr("axis", 0)
    if indices.min() < -shape[axis] or indices.max() >= shape[axis]:
        raise Unconvertible(f"the indices '{node.input(1)}' are out of range")
    grid = list(index_grid(indices.shape))
    grid[axis] = indices
    places[tuple(grid)] = prod(shape) + arange(indices.size).reshape(indices.shape)
    return _places(node, places, "places")


def _updated_at_run_time(node: Node, shape: tuple[int, ...], updates: tuple[int, ...]) -> str:
    """Every place of the data is compared with the place of every update; the last update that goes there counts."""
    size, count, axis = prod(shape), prod(updates), node.attr("axis", 0)
    if size * count > _MOST_COMPARED:
        raise Unconvertible(
            f"the indices '{node.input(1)}' are computed at run time, and {count} updates of {size} elements are too many"
        )
    indices = _from_the_front(node, 1, int64(node, shape[axis], "length"))
    along = node.before("Mul", [indices, int64(node, prod(shape[axis + 1 :]), "stride")], what="along")
    targets = node.before("Add", [along, _rest(node, node.input(1), axis, len(shape))], what="targets")
    there = node.add_constant(arange(size).reshape(-1, 1), np.int64, "places")
    is_there = node.before("Equal", [_flat(node, targets), there], what="is_there")
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


@decompose("ReverseSequence", opset=9)
def gather_mirrored(node: Node) -> None:
    """Within its length, an element of a sequence comes from the mirrored place; behind it, from its own."""
    shape = node.need_shape()
    batch_axis, time_axis = node.attr("batch_axis", 1), node.attr("time_axis", 0)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    grid = index_grid(shape)
    time = int64(node, arange(shape[time_axis]).tolist(), "time")
    lengths = node.before("Cast", [node.input(1)], what="lengths", to=TensorProto.INT64)
    lengths = node.before("Reshape", [lengths, int64(node, [-1, 1], "column")], what="lengths")
    inside = node.before("Less", [time, lengths], what="inside")
    inside = node.before("Cast", [inside], what="inside", to=TensorProto.INT64)
    # length - 1 - 2 * time is the way from an element to its mirror image
    twice = int64(node, [2 * t + 1 for t in range(shape[time_axis])], "twice")
    way = node.before("Mul", [inside, node.before("Sub", [lengths, twice], what="way")], what="way")
    cells = _places(node, grid[batch_axis] * shape[time_axis] + grid[time_axis], "cells")
    way = node.before("Gather", [_flat(node, way), cells], what="way", axis=0)
    way = node.before("Mul", [way, int64(node, strides[time_axis], "stride")], what="way")
    own = _places(node, arange(prod(shape)).reshape(shape), "own")
    node.become("Gather", [_flat(node, node.input(0)), node.before("Add", [way, own], what="places")], axis=0)
