"""Constant tables of numbers. Their size is limited, because a declared dimension may be a billion."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...rewriter.errors import Unconvertible

MOST_NUMBERS = 1 << 24
"""The largest number of entries of a table: 128 MiB of int64."""


def require_few(count: int) -> None:
    """Raises Unconvertible where a table of `count` elements would be too large."""
    if count > MOST_NUMBERS:
        raise Unconvertible(f"a table of {count} elements would have to be written into the model as a constant")


def arange(*bounds: int, dtype: Any = None) -> np.ndarray:
    """np.arange for integers. Raises Unconvertible where the result would be too large."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    require_few((stop - start) // step)
    return np.arange(start, stop, step, dtype=dtype)


def index_grid(shape: Sequence[int], dtype: Any = np.int64) -> np.ndarray:
    """np.indices. Raises Unconvertible where the result would be too large, or a length is negative."""
    if min(shape, default=0) < 0:
        raise Unconvertible(f"a table of the shape {list(shape)} is needed, which there is not", "correct the model")
    require_few(len(shape) * prod(shape))
    return np.indices(tuple(shape), dtype)
