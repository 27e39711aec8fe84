"""Makes negative axes of nodes positive."""

from __future__ import annotations

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node
from ...rewriter.opsets import facts
from ...rewriter.opsets.facts import Kind, Role

REDUCTIONS = tuple(sorted(name for name in facts.of_kind(Kind.REDUCES) if facts.of(name).takes(Role.AXES)))
"""The reduction operators, which all have the same attributes for axes."""


def add_rank(node: Node, attribute: str, *, index: int = 0, extra: int = 0) -> None:
    """Add the rank of input `index`, plus `extra`, to each negative axis in `attribute`.

    Raises Unconvertible where one is negative and the rank is unknown.
    """
    value = node.attr(attribute)
    axes = value if isinstance(value, list) else [value]
    if value is None or all(axis >= 0 for axis in axes):
        return
    positive = from_the_front(axes, node.need_rank(index) + extra)
    node.set_attr(attribute, positive if isinstance(value, list) else positive[0])


def require_axis(axis: int, rank: int) -> None:
    """Raises Unconvertible where a tensor of rank `rank` has no axis `axis`."""
    if not -rank <= axis < rank:
        raise Unconvertible(f"axis={axis} is out of range for rank {rank}")


def from_the_front(axes: list[int], rank: int) -> list[int]:
    """`axes` of a tensor of rank `rank`, with the rank added to negative ones.

    The value `rank`, the position after the last axis, is accepted for Flatten. Raises Unconvertible where an axis is out of range.
    """
    for axis in axes:
        if axis != rank:
            require_axis(axis, rank)
    return [axis + rank if axis < 0 else axis for axis in axes]


def reduced_axes(node: Node) -> list[int] | None:
    """The axes of a reduction, from the front and sorted; None where they are not known, or none is reduced."""
    rank = node.need_rank()
    stated = node.attr("axes")
    if stated is None and node.has_input(1):
        given = node.constant(1)
        stated = None if given is None else given.tolist()
        if stated is None:
            return None
    if not stated:
        return None if node.attr("noop_with_empty_axes", 0) else list(range(rank))
    return sorted({axis % rank for axis in stated})
