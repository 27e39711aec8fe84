"""Padding by negative numbers, which cuts elements off."""

from __future__ import annotations

from collections.abc import Sequence

from ...rewriter.errors import Unconvertible
from ...rewriter.graph.node import Node


def require_crops_within(node: Node, pads: Sequence[int]) -> None:
    """Raises Unconvertible where `pads`, which are those of all axes in front and then at the end, cut off more than an axis has
    while they add to its other side. Where the length is not known, a warning says from which length on the result is right.

    Such a Pad adds less by what it cannot cut off, which no Slice and no Pad of other numbers do for any length.
    """
    rank = len(pads) // 2
    for axis in range(rank):
        sides = pads[axis], pads[axis + rank]
        cut = -min(sides)
        if cut <= 0 or max(sides) <= 0:
            continue
        length = node.dimension(axis)
        if not isinstance(length, int):
            node.caution(f"axis {axis} has to have {cut} elements or more, which are cut off", only_if_empty=cut == 1)
        elif cut > length:
            raise Unconvertible(
                f"pads cut {cut} elements off axis {axis}, which has {length}, and add others", "make the pads smaller"
            )
