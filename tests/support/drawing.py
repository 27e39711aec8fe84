"""Random arrays for tests, which are the same whichever tests ran before, and in whichever process."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.default_rng(5)
_START = RANDOM.bit_generator.state


def begin_anew() -> None:
    """Let the next arrays be those that the first caller gets."""
    RANDOM.bit_generator.state = _START


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(kind: Any, *shape: int) -> np.ndarray:
    """Random integers of the whole range of a type."""
    limits = np.iinfo(kind)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
