"""Unique below opset 11: the elements are sorted, so that equal ones are neighbours.

https://onnx.ai/onnx/operators/onnx__Unique.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.tables import arange
from .shared.typed import FLOATING, type_name

_SORTABLE = (
    *(TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE),
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
)
"""The types that older operators can sort."""
_MOST_COLUMNS = 64
"""The number of elements of the largest slices that are compared; each element needs one pass of sorting."""


class _Groups(NamedTuple):
    """The result of sorting the slices 0, 1, …, as vectors of int64.

    A group is a set of equal slices; groups are numbered in order.
    """

    order: str
    """The numbers of the slices in sorted order; equal slices keep their order."""
    starts: str
    """The position in `order` at which each group starts."""
    firsts: str
    """The first slice of each group."""
    numbers: str
    """The group of each slice."""
    is_first: str
    """For each slice, 1 where it is the first of its group, else 0."""


@decompose("Unique", opset=13)
def sort_and_compare_neighbours(node: Node) -> None:
    """The slices are sorted by TopK and compared with their neighbours; the first of equal slices is kept, and all are counted."""
    kind = node.need_elem_type()
    if kind not in _SORTABLE:
        raise Unconvertible(f"older operators cannot sort {type_name(kind)}")
    axis = node.attr("axis")
    if axis is None:
        count = prod(node.need_shape())
        data, columns = node.op.Reshape(node.input(0), node.op.int64([-1])), 1
    else:
        shape = node.need_shape()
        axis, data = axis % len(shape), node.input(0)
        count, columns = shape[axis], prod(shape) // max(shape[axis], 1)
    if not count or not columns:
        raise Unconvertible("Unique of 0 elements is new in opset 11")
    if columns > _MOST_COLUMNS:
        raise Unconvertible(f"Unique of slices of {columns} elements would take {columns * 5} nodes in older operators")
    compared = _columns(node, data, axis, columns, count)
    if kind in FLOATING:
        compared = [part for column in compared for part in _nan_behind(node, column, kind)]
    groups = _group(node, compared, count)
    _give_outputs(node, data, axis or 0, groups, count)


def _columns(node: Node, data: str, axis: int | None, columns: int, count: int) -> list[str]:
    """The sort keys, the most significant first: vectors with one element of each slice."""
    op = node.op
    if axis is None:
        return [data]
    others = [other for other in range(node.need_rank()) if other != axis]
    table = op.Transpose(data, perm=[*others, axis])
    table = op.Reshape(table, op.int64([columns, count]))
    return [op.Gather(table, op.int64(row), axis=0) for row in range(columns)]


def _nan_behind(node: Node, column: str, kind: int) -> list[str]:
    """Two vectors that sort NaN as a single value after all others: whether the element is NaN, and its value otherwise."""
    op = node.op
    is_nan = op.IsNaN(column)
    number = op.Where(is_nan, op.const(0, kind), column)
    return [op.Cast(is_nan, to=kind), number]


def _group(node: Node, columns: list[str], count: int) -> _Groups:
    """Sort the `count` slices by `columns`, and find the groups of equal ones."""
    op = node.op
    everything, order = op.int64([count]), ""
    for column in reversed(columns):
        moved = op.Gather(column, order, axis=0) if order else column
        _, places = op.TopK(moved, everything, outputs=2, axis=0, largest=0)
        order = op.Gather(order, places, axis=0) if order else places
    is_start = _starts(node, columns, order, count)
    starts = op.Reshape(op.NonZero(is_start), op.int64([-1]))
    number = op.CumSum(is_start, op.int64(0))
    number = op.Sub(number, op.int64(1))
    back = _argsort(node, order, everything)
    numbers, is_first = (op.Gather(name, back, axis=0) for name in (number, is_start))
    return _Groups(order, starts, op.Gather(order, starts, axis=0), numbers, is_first)


def _starts(node: Node, columns: list[str], order: str, count: int) -> str:
    """1 for the first slice in `order` and for each slice that differs from the one before it; else 0."""
    op = node.op
    first = op.int64([1])
    if count == 1:
        return first
    same = ""
    for column in columns:
        values = op.Gather(column, order, axis=0)
        pair = [op.Gather(values, op.int64(arange(start, start + count - 1).tolist()), axis=0) for start in (0, 1)]
        equal = op.Equal(*pair)
        same = op.And(same, equal) if same else equal
    differs = op.Cast(op.Not(same), to=TensorProto.INT64)
    return op.Concat(first, differs, axis=0)


def _argsort(node: Node, permutation: str, count: str) -> str:
    """The inverse of `permutation`, whose `count` numbers are exact in double."""
    number = node.op.Cast(permutation, to=TensorProto.DOUBLE)
    _, places = node.op.TopK(number, count, outputs=2, axis=0, largest=0)
    return places


def _give_outputs(node: Node, data: str, axis: int, groups: _Groups, count: int) -> None:
    """Write the outputs: the distinct values, the first position of each, the group of each slice, and the size of each group."""
    op = node.op
    firsts, numbers, chosen = groups.firsts, groups.numbers, ""
    if not node.attr("sorted", 1):
        places = op.NonZero(groups.is_first)
        firsts = op.Reshape(places, op.int64([-1]))
        chosen = op.Gather(numbers, firsts, axis=0)
        rank = op.CumSum(groups.is_first, op.int64(0))
        rank = op.Sub(rank, op.int64(1))
        first_of_each = op.Gather(groups.firsts, numbers, axis=0)
        numbers = op.Gather(rank, first_of_each, axis=0)
    if node.has_output(3):
        counts = _counts(node, groups.starts, count)
        name = op.Gather(counts, chosen, axis=0) if chosen else counts
        op.Identity(name, output=node.output(3))
    for index, name in ((1, firsts), (2, numbers)):
        if node.has_output(index):
            op.Identity(name, output=node.output(index))
    op.Gather(data, firsts, output=node.output(0), axis=axis)
    node.remove()


def _counts(node: Node, starts: str, count: int) -> str:
    """The number of slices in each group, from its start to the next start or the end."""
    op = node.op
    all_but_first = [op.int64([value]) for value in (1, count, 0)]
    ends = [op.Slice(starts, *all_but_first), op.int64([count])]
    return op.Sub(op.Concat(*ends, axis=0), starts)
