"""Where below opset 9: one Gather from the flattened X and Y.

https://onnx.ai/onnx/operators/onnx__Where.html
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.flat_indices import _MOST_STORED, count_elements, flattened, places_at_run_time, stored_places
from .shared.tables import arange


@decompose("Where", opset=8)
def gather_from_both(node: Node) -> None:
    """X and Y are flattened and joined, and a Gather takes each element at the position that the condition selects."""
    op = node.op
    first, second = (2, 1) if _is_one(node, 2, 1) else (1, 2)
    both = op.Concat(flattened(node, node.input(first)), flattened(node, node.input(second)), axis=0)
    places = _places_behind_one(node, second) if _is_one(node, first, second) else _chosen_places(node)
    node.become.Gather(both, places, axis=0)


def _is_one(node: Node, index: int, other: int) -> bool:
    """Whether input `index` is one element, which gives the result no axis that input `other` does not have."""
    shape = node.shape(index)
    return shape is not None and len(shape) <= node.need_rank(other) and all(dim == 1 for dim in shape)


def _places_behind_one(node: Node, index: int) -> str:
    """For each element of the result, its place in one element and input `index` joined."""
    op, places = node.op, _known_places(node, index)
    condition = node.input(0) if index == 1 else op.Not(node.input(0))
    chosen = node.constant(condition)
    if places is not None and chosen is not None:
        return stored_places(node, np.where(chosen, places + 1, 0))
    behind = op.Add(_own_places(node, index), op.int64(1)) if places is None else op.int64(places + 1)
    return op.Mul(op.Cast(condition, to=TensorProto.INT64), behind)


def _chosen_places(node: Node) -> str:
    """For each element of the result, its position in X and Y joined; a constant where shapes and condition are known."""
    op = node.op
    of_x, of_y, condition = _known_places(node, 1), _known_places(node, 2), node.constant(0)
    if of_x is not None and of_y is not None:
        of_y = of_y + of_x.size
        if condition is not None:
            return stored_places(node, np.where(condition, of_x, of_y))
        way, start = op.int64(of_x - of_y), op.int64(of_y)
    else:
        first, second = _own_places(node, 1), _own_places(node, 2)
        start = op.Add(second, count_elements(node, node.input(1), range(node.need_rank(1))))
        way = op.Sub(first, start)
    return op.Add(op.Mul(op.Cast(node.input(0), to=TensorProto.INT64), way), start)


def _known_places(node: Node, index: int) -> np.ndarray | None:
    """For each element of input `index`, its position in the flattened input; None where the shape is
    unknown, or the input is large.
    """
    shape = node.shape(index)
    known = [dim for dim in shape or () if isinstance(dim, int)]
    if shape is None or len(known) < len(shape) or prod(known) > _MOST_STORED:
        return None
    return arange(prod(known)).reshape(known)


def _own_places(node: Node, index: int) -> str:
    """The positions of `_known_places`, computed at run time where they are unknown."""
    known = _known_places(node, index)
    if known is not None:
        return node.op.int64(known)
    return places_at_run_time(node, node.input(index), node.input(index), range(node.need_rank(index)))
