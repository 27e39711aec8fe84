"""Zero points of quantized tensors: whether there is one, and what is known about its value."""

from __future__ import annotations

from math import prod

import numpy as np

from ...rewriter.graph.node import Node

_LARGEST_LOOK = 65_536
"""The number of elements up to which a zero point is read to see whether all its elements are the same number."""


def shifts(node: Node, index: int) -> bool:
    """Whether the node has a zero point, input `index`, that may be different from 0."""
    known = known_zero_point(node, index)
    return node.has_input(index) and (known is None or bool(known.any()))


def known_zero_point(node: Node, index: int) -> np.ndarray | None:
    """Input `index`, the zero point, if it is constant; None for large ones, which are not read for this."""
    shape = node.shape(index) if node.has_input(index) else None
    if shape is None or prod(dim if isinstance(dim, int) else 0 for dim in shape) not in range(1, _LARGEST_LOOK + 1):
        return None
    value = node.constant(index)
    return value if value is not None and value.dtype.kind in "iufV" else None
