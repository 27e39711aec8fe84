"""Positions in flattened data, for operators that become one Gather from it. This is exact, since only positions are computed.

https://onnx.ai/onnx/operators/onnx__GatherElements.html, https://onnx.ai/onnx/operators/onnx__GatherND.html,
https://onnx.ai/onnx/operators/onnx__ScatterElements.html, https://onnx.ai/onnx/operators/onnx__ScatterND.html,
https://onnx.ai/onnx/operators/onnx__Where.html, https://onnx.ai/onnx/operators/onnx__ReverseSequence.html
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from .indices import count_up, is_never_negative, length, wrapped
from .tables import index_grid, require_few
from .typed import FLOATING

_MOST_STORED = 1 << 22
"""The number of positions that are stored in the model instead of being computed at run time: 32 MiB of int64."""


def flattened(node: Node, name: str) -> str:
    """`name` as a vector. One number is stored as such, in the types that Constant had from the first."""
    kind, value = node.elem_type(name), node.constant(name)
    if kind in FLOATING and value is not None and value.size == 1:
        return node.op.const(value.reshape(-1), kind)
    return node.op.Reshape(name, node.op.int64([-1]))


def stored_places(node: Node, array: np.ndarray) -> str:
    """`array` as a constant of int64. Raises Unconvertible where it is too large."""
    require_few(array.size)
    return node.op.int64(array)


def indices_from_the_front(node: Node, index: int, size: str) -> str:
    """Input `index`, which has indices, as int64, with `size` added to negative ones; `size` broadcasts to them."""
    value, bound = node.constant(index), node.constant(size)
    if value is not None and ((value >= 0).all() or bound is not None):
        positive = value if bound is None else value + (value < 0) * bound
        return node.op.int64(positive)
    indices = node.input(index)
    if node.need_elem_type(index) != TensorProto.INT64:
        indices = node.op.Cast(indices, to=TensorProto.INT64)
    return indices if is_never_negative(node, indices) else wrapped(node, indices, TensorProto.INT64, size)


def count_elements(node: Node, name: str, axes: range) -> str:
    """The number of elements along `axes` of `name`, as an int64 scalar."""
    op = node.op
    shape = node.shape(name)
    known = [] if shape is None else [dim for dim in (shape[axis] for axis in axes) if isinstance(dim, int)]
    if len(known) == len(axes):
        return op.int64(prod(known))
    sizes = op.Concat(*([length(node, name, axis) for axis in axes]), axis=0)
    return op.ReduceProd(sizes, axes=[0], keepdims=0)


def places_along_other_axes(node: Node, indices: str, axis: int, rank: int) -> str:
    """For each element of `indices`, the position in the flattened data of the element with index 0 along
    `axis` and its own indices elsewhere.
    """
    data = node.input(0)
    shapes = [node.shape(name) for name in (data, indices)]
    known = [tuple(dim for dim in shape or () if isinstance(dim, int)) for shape in shapes]
    if all(len(dims) == rank for dims in known):
        strides = [prod(known[0][d + 1 :]) for d in range(rank)]
        grid = index_grid(known[1])
        return stored_places(node, sum(grid[d] * strides[d] for d in range(rank) if d != axis) + np.zeros(known[1]))
    return places_at_run_time(node, data, indices, [d for d in range(rank) if d != axis])


def places_at_run_time(node: Node, data: str, counted: str, axes: Sequence[int]) -> str:
    """The positions in the flattened `data` of the elements at 0, 1, … along `axes` and at 0 along other axes.

    Along each of `axes`, the indices go up to the length of `counted`, and each step adds the stride. The result broadcasts to the
    shape of `counted`.
    """
    op = node.op
    rank = len(node.shape(data) or ())
    total = op.int64(0)
    for axis in axes:
        count = count_up(node, op.int64([0]), length(node, counted, axis), op.int64([1]))
        places = op.Mul(count, count_elements(node, data, range(axis + 1, rank)))
        column = op.int64([-1] + [1] * (rank - 1 - axis))
        total = op.Add(total, op.Reshape(places, column))
    return total


def index_depth(node: Node) -> int:
    """The number of indices for one row: the last dimension of input 1. Raises Unconvertible where it is 0 or unknown."""
    depth = node.need_dimension(-1, 1)
    if depth == 0:
        raise Unconvertible("indices of length 0 select the whole data, which older operators cannot express")
    return depth


def row_places(node: Node, depth: int) -> str:
    """Input 1, tuples of `depth` indices along its last axis, as positions along the merged first axes of the data."""
    op = node.op
    data, vector = node.input(0), op.int64([1])
    shape = node.shape(data)
    known = [dim for dim in (shape or ())[:depth] if isinstance(dim, int)]
    if len(known) == depth:
        sizes = op.int64(known)
    else:
        sizes = op.Concat(*([length(node, data, axis) for axis in range(depth)]), axis=0)
    numbers = [count_elements(node, data, range(axis + 1, depth)) for axis in range(depth)]
    cells = [op.Reshape(number, vector) for number in numbers]
    strides = op.Concat(*cells, axis=0)
    weighted = op.Mul(indices_from_the_front(node, 1, sizes), strides)
    return op.ReduceSum(weighted, axes=[node.need_rank(1) - 1], keepdims=0)
