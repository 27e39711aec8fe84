"""Where below opset 9: one Gather from X and Y, flattened.

https://onnx.ai/onnx/operators/onnx__Where.html
"""

from __future__ import annotations

from math import prod

from onnx import TensorProto

from ..rewriter.engine.registry import decompose
from ..rewriter.graph.node import Node
from .shared.flat_indices import _MOST_STORED, count_elements, flattened, places_at_run_time
from .shared.tables import arange


@decompose("Where", opset=8)
def gather_from_both(node: Node) -> None:
    """X and Y are flattened and joined, and a Gather takes each element at the place that the condition chooses."""
    op = node.op
    x, y = node.input(1), node.input(2)
    of_x, of_y = _own_places(node, 1), _own_places(node, 2)
    of_y = op.Add(of_y, count_elements(node, x, range(node.need_rank(1))))
    both = op.Concat(flattened(node, x), flattened(node, y), axis=0)
    condition = op.Cast(node.input(0), to=TensorProto.INT64)
    moved = op.Mul(condition, op.Sub(of_x, of_y))
    node.become.Gather(both, op.Add(moved, of_y), axis=0)


def _own_places(node: Node, index: int) -> str:
    """For each element of input `index`, its place in the flattened input."""
    name, rank = node.input(index), node.need_rank(index)
    shape = node.scope.shape(name) or ()
    known = [dim for dim in shape if isinstance(dim, int)]
    if len(known) == rank and prod(known) <= _MOST_STORED:
        return node.op.int64(arange(prod(known)).reshape(known))
    return places_at_run_time(node, name, name, range(rank))
