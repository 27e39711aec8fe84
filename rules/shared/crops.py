"""Padding by negative numbers, which cuts elements off."""

from __future__ import annotations

from collections.abc import Sequence

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Dimension, Node


def may_cut_what_is_added(length: Dimension, before: int | None, after: int | None) -> bool:
    """Whether a Pad may cut more off one side of an axis than its `length`, and so a part of what it adds to the other side.

    None stands for padding that is not known. Such a Pad is right in two steps if the elements are cut off after others are added.
    """
    if before is None or after is None:
        return True
    cut = -min(before, after)
    return cut > 0 and max(before, after) > 0 and not (isinstance(length, int) and cut <= length)


def require_crops_within(node: Node, pads: Sequence[int]) -> None:
    """Raises Unconvertible where `pads`, which are those of all axes in front and then at the end, cut off more than an axis is
    known to have while they add to its other side: in modes other than constant, such a Pad fails if it runs.
    """
    rank = len(pads) // 2
    for axis in range(rank):
        sides, length = (pads[axis], pads[axis + rank]), node.dimension(axis)
        if isinstance(length, int) and may_cut_what_is_added(length, *sides):
            raise Unconvertible(
                f"pads cut {-min(sides)} elements off axis {axis}, which has {length}, and add others", "make the pads smaller"
            )
