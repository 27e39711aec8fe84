"""The size of what runtimes give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from split_rewrite.rewriter.execution.values import arrays_in, byte_size

FOUR = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("value", "arrays"),
    [(None, 0), (FOUR, 1), ([], 0), ([FOUR, FOUR], 2), ({"a": FOUR, "b": [FOUR]}, 2), ([None, {"a": FOUR}], 1)],
)
def test_arrays_are_found_in_sequences_maps_and_optionals(value: Any, arrays: int) -> None:
    assert len(list(arrays_in(value))) == arrays
    assert byte_size(value) == 16 * arrays
