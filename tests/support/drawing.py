"""Random arrays for tests, which are the same whichever tests ran before, and in whichever process."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.default_rng(5)
_OF_MODULES, _OF_TESTS = (np.random.default_rng(seed).bit_generator.state for seed in (5, 6))


def begin_module() -> None:
    """Let the next arrays be those that the first module gets."""
    RANDOM.bit_generator.state = _OF_MODULES


def begin_test() -> None:
    """Let the next arrays be those that the first test gets, which are others than those of its module."""
    RANDOM.bit_generator.state = _OF_TESTS


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(kind: Any, *shape: int) -> np.ndarray:
    """Random integers of the whole range of a type."""
    limits = np.iinfo(kind)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
