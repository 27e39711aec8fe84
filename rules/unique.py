"""Unique below opset 11: equal elements are neighbours once they are sorted.

https://onnx.ai/onnx/operators/onnx__Unique.html
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import int64
from .shared.tables import arange
from .shared.typed import FLOATING, type_name, typed

_SORTABLE = (
    *(TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE),
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
)
"""The types that older operators sort."""
_MOST_COLUMNS = 64
"""Elements of the largest slices that are compared: each element is one pass of sorting."""


class _Groups(NamedTuple):
    """What sorting tells of the slices 0, 1, …, as vectors of int64. A group is a set of equal slices; groups are numbered in
    order.
    """

    order: str
    """The numbers of the slices in sorted order; equal slices keep their order."""
    starts: str
    """Where in `order` each group starts."""
    firsts: str
    """The first slice of each group."""
    numbers: str
    """The group of each slice."""
    is_first: str
    """For each slice, 1 where it is the first of its group, else 0."""


@decompose("Unique", opset=13)
def sort_and_compare_neighbours(node: Node) -> None:
    """Slices are sorted by TopK and compared with their neighbours; of equal ones the first is kept and all are counted."""
    kind = node.need_elem_type()
    if kind not in _SORTABLE:
        raise Unconvertible(f"older operators cannot sort {type_name(kind)}")
    axis = node.attr("axis")
    if axis is None:
        count = prod(node.need_shape())
        data, columns = node.before("Reshape", [node.input(0), int64(node, [-1], "flat")], what="flat"), 1
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
    """What the slices are compared by, the most significant first: vectors with one element of each slice."""
    if axis is None:
        return [data]
    others = [other for other in range(node.need_rank()) if other != axis]
    table = node.before("Transpose", [data], what="slices", perm=[*others, axis])
    table = node.before("Reshape", [table, int64(node, [columns, count], "table")], what="table")
    return [node.before("Gather", [table, int64(node, row, "row")], what="column", axis=0) for row in range(columns)]


def _nan_behind(node: Node, column: str, kind: int) -> list[str]:
    """Two vectors that order NaN as one value behind all others: whether the element is NaN, and its value where it is not."""
    is_nan = node.before("IsNaN", [column], what="is_nan")
    number = node.before("Where", [is_nan, typed(node, 0, kind, "zero"), column], what="number")
    return [node.before("Cast", [is_nan], what="is_nan", to=kind), number]


def _group(node: Node, columns: list[str], count: int) -> _Groups:
    """Sort the slices, `count` of them, by `columns`, and find the groups of equal ones."""
    everything, order = int64(node, [count], "count"), ""
    for column in reversed(columns):
        moved = node.before("Gather", [column, order], what="moved", axis=0) if order else column
        _, places = node.before_many("TopK", [moved, everything], 2, what="sorted", axis=0, largest=0)
        order = node.before("Gather", [order, places], what="order", axis=0) if order else places
    is_start = _starts(node, columns, order, count)
    starts = node.before("Reshape", [node.before("NonZero", [is_start]), int64(node, [-1], "flat")], what="starts")
    number = node.before("CumSum", [is_start, int64(node, 0, "axis")], what="number")
    number = node.before("Sub", [number, int64(node, 1, "one")], what="number")
    back = _argsort(node, order, everything)
    numbers, is_first = (node.before("Gather", [name, back], what="of_slices", axis=0) for name in (number, is_start))
    return _Groups(order, starts, node.before("Gather", [order, starts], what="firsts", axis=0), numbers, is_first)


def _starts(node: Node, columns: list[str], order: str, count: int) -> str:
    """1 where a slice differs from the one before it in `order`, and for the first; else 0."""
    first = int64(node, [1], "first")
    if count == 1:
        return first
    same = ""
    for column in columns:
        values = node.before("Gather", [column, order], what="in_order", axis=0)
        pair = [
            node.before("Gather", [values, int64(node, arange(start, start + count - 1).tolist(), "part")], what="part", axis=0)
            for start in (0, 1)
        ]
        equal = node.before("Equal", pair, what="equal")
        same = node.before("And", [same, equal], what="same") if same else equal
    differs = node.before("Cast", [node.before("Not", [same], what="differs")], what="differs", to=TensorProto.INT64)
    return node.before("Concat", [first, differs], what="is_start", axis=0)


def _argsort(node: Node, permutation: str, count: str) -> str:
    """The inverse of `permutation`, whose `count` numbers are exact in double."""
    number = node.before("Cast", [permutation], what="number", to=TensorProto.DOUBLE)
    _, places = node.before_many("TopK", [number, count], 2, what="back", axis=0, largest=0)
    return places


def _give_outputs(node: Node, data: str, axis: int, groups: _Groups, count: int) -> None:
    """Write the outputs: the distinct values, where each occurs first, the group of each slice, and how many are in each group."""
    firsts, numbers, chosen = groups.firsts, groups.numbers, ""
    if not node.attr("sorted", 1):
        places = node.before("NonZero", [groups.is_first], what="places")
        firsts = node.before("Reshape", [places, int64(node, [-1], "flat")], what="in_place")
        chosen = node.before("Gather", [numbers, firsts], what="chosen", axis=0)
        rank = node.before("CumSum", [groups.is_first, int64(node, 0, "axis")], what="rank")
        rank = node.before("Sub", [rank, int64(node, 1, "one")], what="rank")
        first_of_each = node.before("Gather", [groups.firsts, numbers], what="first_of_each", axis=0)
        numbers = node.before("Gather", [rank, first_of_each], what="numbers", axis=0)
    if node.has_output(3):
        counts = _counts(node, groups.starts, count)
        name = node.before("Gather", [counts, chosen], what="counts", axis=0) if chosen else counts
        node.before("Identity", [name], outputs=[node.output(3)])
    for index, name in ((1, firsts), (2, numbers)):
        if node.has_output(index):
            node.before("Identity", [name], outputs=[node.output(index)])
    node.before("Gather", [data, firsts], outputs=[node.output(0)], axis=axis)
    node.remove()


def _counts(node: Node, starts: str, count: int) -> str:
    """How many slices each group has: from its start to the next, or to the end."""
    all_but_first = [int64(node, [value], "bound") for value in (1, count, 0)]
    ends = [node.before("Slice", [starts, *all_but_first], what="next"), int64(node, [count], "end")]
    return node.before("Sub", [node.before("Concat", ends, what="ends", axis=0), starts], what="counts")
