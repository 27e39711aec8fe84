"""Tables of numbers as constants, no larger than a model should hold: a declared dimension may be a billion."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...rewriter.errors import Unconvertible

MOST_NUMBERS = 1 << 24
"""Numbers of the largest table: 128 MiB of int64."""


def require_few(count: int) -> None:
    """Raises Unconvertible where a table of `count` elements is too large."""
    if count > MOST_NUMBERS:
        raise Unconvertible(f"a table of {count} elements would have to be written into the model as a constant")


def arange(*bounds: int, dtype: Any = None) -> np.ndarray:
    """np.arange of integers. Raises Unconvertible where they would be too many."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    require_few((stop - start) // step)
    return np.arange(start, stop, step, dtype=dtype)


def index_grid(shape: Sequence[int], dtype: Any = np.int64) -> np.ndarray:
    """np.indices. Raises Unconvertible where they would be too many."""
    require_few(len(shape) * prod(shape))
    return np.indices(tuple(shape), dtype)
