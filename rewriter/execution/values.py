"""What runtimes take and give: arrays, sequences and maps of them, and optionals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """The arrays in a tensor, a sequence, a map or an optional."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    if parts is not None:
        for part in parts:
            yield from arrays_in(part)
    elif value is not None:
        yield np.asarray(value)


def byte_size(value: Any) -> int:
    """Bytes of all arrays in a value; strings count as references."""
    return sum(array.nbytes for array in arrays_in(value))
