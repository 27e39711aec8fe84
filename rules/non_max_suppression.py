"""NonMaxSuppression below opset 10: a Loop that takes the best remaining box and removes the boxes that overlap it.

https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, length
from .shared.loops import Body, Step, Typed, repeat
from .shared.tables import arange

_FLOAT = TensorProto.FLOAT
_MOST_STEPS = 2**31
"""The trip count of the Loop, which in fact ends by its condition."""
_CORNERS = ("bottom", "top", "left", "right", "area")
"""The values that are computed for each box, in this order."""


class _Lanes(NamedTuple):
    """One row for each class of each batch, with its boxes by descending score, as tensors [row, box]."""

    live: str
    """1 for a box that may still be selected, 0 for any other."""
    order: str
    """The number of each box within its batch."""
    places: str
    """The number of each box among the boxes of all batches."""


@decompose("NonMaxSuppression", opset=9, exact=False)
def select_best_remaining_box(node: Node) -> None:
    """A Loop selects one box in each step, for each batch and class. Overlaps are computed in float, as in runtimes."""
    boxes = node.need_dimension(2, 1)
    if boxes == 0:
        raise Unconvertible("NonMaxSuppression of 0 boxes is new in opset 10")
    for index, what in ((2, "max_output_boxes_per_class"), (3, "iou_threshold"), (4, "score_threshold")):
        shape = node.shape(index) or ()
        if any(dim != 1 for dim in shape):
            raise Unconvertible(f"{what} '{node.input(index)}' is not known to be a single number", node.shape_hint(index))
    most = node.op.Reshape(_most(node), node.op.int64([]))
    lanes = _lanes(node, boxes, most)
    picks = _select(node, lanes, boxes, most, _corners(node))
    _describe(node, picks, lanes, boxes)


def _most(node: Node) -> str:
    """The number of boxes that may be selected for each class of each batch, as float; 0 where the input is absent."""
    if not node.has_input(2):
        return node.op.const(0, np.float32)
    return node.op.Cast(node.input(2), to=_FLOAT)


def _lanes(node: Node, boxes: int, most: str) -> _Lanes:
    """The boxes of each class and batch, sorted by score."""
    op = node.op
    scores = node.input(1)
    if node.has_input(4):  # what is not above it sorts last, NaN among it, which would be no order
        above = op.Greater(scores, node.input(4))
        scores = op.Where(above, scores, op.const(-np.inf, _FLOAT))
    scores, order = op.TopK(scores, outputs=2, axis=2, k=boxes)
    if node.has_input(4):
        live = op.Greater(scores, node.input(4))
    else:
        live = op.Not(op.Less(scores, scores))
    live = op.And(live, op.Greater(most, op.const(0, _FLOAT)))
    batches = count_up(node, op.int64([0]), length(node, node.input(1), 0), op.int64([1]))
    offset = op.Mul(batches, op.int64(boxes))
    offset = op.Reshape(offset, op.int64([-1, 1, 1]))
    live = op.Cast(live, to=_FLOAT)
    rows = [live, order, op.Add(order, offset)]
    form = op.int64([-1, boxes])
    return _Lanes(*(op.Reshape(row, form) for row in rows))


def _corners(node: Node) -> list[str]:
    """The bottom, top, left, right and area of each box, over all batches, as vectors."""
    op = node.op
    table = op.Reshape(node.input(0), op.int64([-1, 4]))
    first = [op.Gather(table, op.int64(column), axis=1) for column in range(4)]
    if node.attr("center_point_box", 0):
        x, y, width, height = first
        sides = [*_around(node, y, height), *_around(node, x, width)]
    else:
        sides = [pick(*first[axis::2]) for axis in range(2) for pick in (op.Min, op.Max)]
    extents = [op.Sub(sides[end], sides[end - 1]) for end in (3, 1)]
    return [*sides, op.Mul(*extents)]


def _around(node: Node, center: str, size: str) -> list[str]:
    """The two sides of a box around `center`."""
    op = node.op
    half = op.Div(size, op.const(2, _FLOAT))
    return [op.Sub(center, half), op.Add(center, half)]


def _select(node: Node, lanes: _Lanes, boxes: int, most: str, corners: list[str]) -> str:
    """The selected boxes, as positions in the flattened rows of `lanes`, in the order of their selection."""
    op = node.op
    flat = op.int64([-1])
    places = op.Reshape(lanes.places, flat)
    count = length(node, lanes.live, 0)
    numbers = count_up(node, op.int64([0]), count, op.int64([1]))
    numbers = op.Reshape(numbers, op.int64([-1, 1]))
    slots, size = op.int64(arange(boxes).tolist()), op.int64(boxes)
    threshold = node.input(3) if node.has_input(3) else op.const(0, _FLOAT)
    taken = op.Cast(op.Less(numbers, numbers), to=_FLOAT)
    row, vector = op.int64([1, -1]), op.int64([])

    def step(body: Body, carried: list[str]) -> Step:
        op = body.op
        live, taken = carried
        pick = op.ArgMax(op.Reshape(live, row), axis=1, keepdims=0)
        lane = op.Div(pick, size)
        slot = op.Sub(pick, op.Mul(lane, size))
        box = op.Gather(places, pick, axis=0)
        others = op.Gather(lanes.places, lane, axis=0)
        near = _overlaps(node, body, corners, box, others, threshold)
        near = op.Or(near, op.Equal(slots, slot))
        here = op.Equal(numbers, lane)
        taken = op.Add(taken, op.Cast(here, to=_FLOAT))
        is_full = op.Not(op.Less(taken, most))
        dropped = op.And(here, op.Or(near, is_full))
        kept = op.Cast(op.Not(dropped), to=_FLOAT)
        live = op.Mul(live, kept)
        pick = op.Reshape(pick, vector)
        goes_on = body.any(op.Greater(live, op.const(0, _FLOAT)))
        return Step(goes_on, [live, taken], [Typed(pick, TensorProto.INT64)])

    total = op.ReduceSum(lanes.live, keepdims=0)
    any_live = op.Greater(total, op.const(0, _FLOAT))
    return repeat(node, _MOST_STEPS, any_live, [Typed(lanes.live, _FLOAT), Typed(taken, _FLOAT)], step)[-1]


def _overlaps(node: Node, body: Body, corners: list[str], box: str, others: str, threshold: str) -> str:
    """Whether the intersection of each of `others` with `box` is more than `threshold` of their union."""
    op = body.op
    of_box, of_others = ([op.Gather(side, at, axis=0) for side in corners] for at in (box, others))
    extents: list[str] = []
    for start, end in ((2, 3), (0, 1)):
        first = op.Max(of_box[start], of_others[start])
        last = op.Min(of_box[end], of_others[end])
        extents.append(op.Sub(last, first))
    meets = op.And(*([op.Greater(extent, op.const(0, _FLOAT)) for extent in extents]))
    shared = op.Mul(*extents)
    both = op.Sub(op.Add(of_box[4], of_others[4]), shared)
    is_much = op.Greater(op.Div(shared, both), threshold)
    return op.And(meets, is_much)


def _describe(node: Node, picks: str, lanes: _Lanes, boxes: int) -> None:
    """Turn the node into [selected, 3]: batch, class and box of each of `picks`."""
    op = node.op
    size, flat = op.int64(boxes), op.int64([-1])
    of_all = op.Reshape(lanes.places, flat)
    batch = op.Div(op.Gather(of_all, picks, axis=0), size)
    lane = op.Div(picks, size)
    first = op.Mul(batch, length(node, node.input(1), 1, "scalar"))
    order = op.Reshape(lanes.order, flat)
    box = op.Gather(order, picks, axis=0)
    parts = [batch, op.Sub(lane, first), box]
    node.become.Concat(*([op.Unsqueeze(name, axes=[1]) for name in parts]), axis=1)
