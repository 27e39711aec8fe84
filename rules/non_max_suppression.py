"""NonMaxSuppression below opset 10: a Loop that takes the best remaining box and drops those that overlap it.

https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.errors import Unconvertible
from ..rewriter.graph.node import Node
from .shared.indices import count_up, int64, length
from .shared.loops import Body, Step, Typed, repeat
from .shared.tables import arange

_FLOAT = TensorProto.FLOAT
_MOST_STEPS = 2**31
"""Bound on the steps of the Loop, which ends by its condition."""
_CORNERS = ("bottom", "top", "left", "right", "area")
"""What is computed of each box, in this order."""


class _Lanes(NamedTuple):
    """One row for each class of each batch, with its boxes by descending score: tensors [row, box]."""

    live: str
    """1 for a box that may still be selected, 0 for any other."""
    order: str
    """The number of each box within its batch."""
    places: str
    """The number of each box among those of all batches."""


@decompose("NonMaxSuppression", opset=9, exact=False)
def select_best_remaining_box(node: Node) -> None:
    """A Loop selects one box a step, batch by batch and class by class. Overlaps are computed in float, as runtimes do."""
    boxes = node.need_dimension(2, 1)
    if boxes == 0:
        raise Unconvertible("NonMaxSuppression of 0 boxes is new in opset 10")
    most = node.before("Reshape", [_most(node), int64(node, [], "scalar")], what="most")
    lanes = _lanes(node, boxes, most)
    picks = _select(node, lanes, boxes, most, _corners(node))
    _describe(node, picks, lanes, boxes)


def _most(node: Node) -> str:
    """How many boxes may be selected for each class of each batch, as float; 0 where the input is absent."""
    if not node.has_input(2):
        return node.add_constant(0, np.float32, "most")
    return node.before("Cast", [node.input(2)], what="most", to=_FLOAT)


def _lanes(node: Node, boxes: int, most: str) -> _Lanes:
    """The boxes of each class and batch, sorted by their score."""
    scores = node.input(1)
    if node.has_input(4):  # what is not above it sorts last, NaN among it, which would be no order
        above = node.before("Greater", [scores, node.input(4)], what="above_threshold")
        scores = node.before("Where", [above, scores, _float(node, -np.inf)], what="scores")
    scores, order = node.before_many("TopK", [scores], 2, what="by_score", axis=2, k=boxes)
    if node.has_input(4):
        live = node.before("Greater", [scores, node.input(4)], what="above_threshold")
    else:
        live = node.before("Not", [node.before("Less", [scores, scores])], what="every_one")
    live = node.before("And", [live, node.before("Greater", [most, _float(node, 0)], what="any_wanted")], what="live")
    batches = count_up(node, int64(node, [0], "first"), length(node, node.input(1), 0), int64(node, [1], "step"))
    offset = node.before("Mul", [batches, int64(node, boxes, "boxes")], what="offset")
    offset = node.before("Reshape", [offset, int64(node, [-1, 1, 1], "column")], what="offset")
    live = node.before("Cast", [live], what="live", to=_FLOAT)
    rows = [live, order, node.before("Add", [order, offset], what="places")]
    form = int64(node, [-1, boxes], "lanes")
    return _Lanes(*(node.before("Reshape", [row, form], what="lanes") for row in rows))


def _corners(node: Node) -> list[str]:
    """Bottom, top, left, right and area of each box, over all batches, as vectors."""
    table = node.before("Reshape", [node.input(0), int64(node, [-1, 4], "table")], what="table")
    first = [node.before("Gather", [table, int64(node, column, "column")], what="column", axis=1) for column in range(4)]
    if node.attr("center_point_box", 0):
        x, y, width, height = first
        sides = [*_around(node, y, height), *_around(node, x, width)]
    else:
        sides = [node.before(op, first[axis::2], what="side") for axis in range(2) for op in ("Min", "Max")]
    extents = [node.before("Sub", [sides[end], sides[end - 1]], what="extent") for end in (3, 1)]
    return [*sides, node.before("Mul", extents, what="area")]


def _around(node: Node, center: str, size: str) -> list[str]:
    """The two sides of a box around `center`."""
    half = node.before("Div", [size, _float(node, 2)], what="half")
    return [node.before(op, [center, half], what="side") for op in ("Sub", "Add")]


def _select(node: Node, lanes: _Lanes, boxes: int, most: str, corners: list[str]) -> str:
    """The selected boxes, as places in the flattened rows of `lanes`, in the order of their selection."""
    flat = int64(node, [-1], "flat")
    places = node.before("Reshape", [lanes.places, flat], what="places")
    count = length(node, lanes.live, 0)
    numbers = count_up(node, int64(node, [0], "first"), count, int64(node, [1], "step"))
    numbers = node.before("Reshape", [numbers, int64(node, [-1, 1], "column")], what="lane_numbers")
    slots, size = int64(node, arange(boxes).tolist(), "slots"), int64(node, boxes, "boxes")
    threshold = node.input(3) if node.has_input(3) else _float(node, 0)
    taken = node.before("Cast", [node.before("Less", [numbers, numbers])], what="taken", to=_FLOAT)
    row, vector = int64(node, [1, -1], "row"), int64(node, [], "scalar")

    def step(body: Body, carried: list[str]) -> Step:
        live, taken = carried
        pick = body.add("ArgMax", [body.add("Reshape", [live, row], "row")], "pick", axis=1, keepdims=0)
        lane = body.add("Div", [pick, size], "lane")
        slot = body.add("Sub", [pick, body.add("Mul", [lane, size], "start")], "slot")
        box = body.add("Gather", [places, pick], "box", axis=0)
        others = body.add("Gather", [lanes.places, lane], "others", axis=0)
        near = _overlaps(node, body, corners, box, others, threshold)
        near = body.add("Or", [near, body.add("Equal", [slots, slot], "itself")], "dropped")
        here = body.add("Equal", [numbers, lane], "here")
        taken = body.add("Add", [taken, body.add("Cast", [here], "once", to=_FLOAT)], "taken")
        is_full = body.add("Not", [body.add("Less", [taken, most], "has_room")], "is_full")
        dropped = body.add("And", [here, body.add("Or", [near, is_full])], "dropped")
        kept = body.add("Cast", [body.add("Not", [dropped])], "kept", to=_FLOAT)
        live = body.add("Mul", [live, kept], "live")
        pick = body.add("Reshape", [pick, vector], "pick")
        goes_on = body.any(body.add("Greater", [live, _float(node, 0)], "is_live"))
        return Step(goes_on, [live, taken], [Typed(pick, TensorProto.INT64)])

    total = node.before("ReduceSum", [lanes.live], what="total", keepdims=0)
    any_live = node.before("Greater", [total, _float(node, 0)], what="any_live")
    return repeat(node, _MOST_STEPS, any_live, [Typed(lanes.live, _FLOAT), Typed(taken, _FLOAT)], step)[-1]


def _overlaps(node: Node, body: Body, corners: list[str], box: str, others: str, threshold: str) -> str:
    """Whether the intersection of each of `others` with `box` is more than `threshold` of their union."""
    of_box, of_others = ([body.add("Gather", [side, at], "side", axis=0) for side in corners] for at in (box, others))
    extents: list[str] = []
    for start, end in ((2, 3), (0, 1)):
        first = body.add("Max", [of_box[start], of_others[start]], "first")
        last = body.add("Min", [of_box[end], of_others[end]], "last")
        extents.append(body.add("Sub", [last, first], "extent"))
    meets = body.add("And", [body.add("Greater", [extent, _float(node, 0)], "meets") for extent in extents], "meets")
    shared = body.add("Mul", extents, "shared")
    both = body.add("Sub", [body.add("Add", [of_box[4], of_others[4]], "areas"), shared], "union")
    is_much = body.add("Greater", [body.add("Div", [shared, both], "part"), threshold], "is_much")
    return body.add("And", [meets, is_much], "overlaps")


def _describe(node: Node, picks: str, lanes: _Lanes, boxes: int) -> None:
    """Let the node become [selected, 3]: batch, class and box of each of `picks`."""
    size, flat = int64(node, boxes, "boxes"), int64(node, [-1], "flat")
    of_all = node.before("Reshape", [lanes.places, flat], what="places")
    batch = node.before("Div", [node.before("Gather", [of_all, picks], what="place", axis=0), size], what="batch")
    lane = node.before("Div", [picks, size], what="lane")
    first = node.before("Mul", [batch, length(node, node.input(1), 1, "scalar")], what="first")
    order = node.before("Reshape", [lanes.order, flat], what="order")
    box = node.before("Gather", [order, picks], what="box", axis=0)
    parts = [batch, node.before("Sub", [lane, first], what="class"), box]
    node.become("Concat", [node.before("Unsqueeze", [name], what="column", axes=[1]) for name in parts], axis=1)


def _float(node: Node, value: float) -> str:
    """A scalar constant of type float."""
    return node.add_constant(value, np.float32, "number")
