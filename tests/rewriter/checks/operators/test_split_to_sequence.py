"""SplitToSequence nodes with sizes that no runtime can compute."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

TEXT = "g (float[6] x) => (seq(float[N]) y) <{}> {{ y = SplitToSequence(x, s) }}"
INVALID = [
    ("int64 s = {0}", "a scalar split must be positive and is 0"),
    ("int64[1,1] s = {3}", "split must be a scalar or 1-D and has rank 2"),
    ("int64[0] s = {}", "split is empty"),
    ("int64[2] s = {-1, 7}", "split has negative sizes: [-1, 7]"),
]


@pytest.mark.parametrize(("sizes", "message"), INVALID)
def test_invalid(sizes: str, message: str) -> None:
    assert f"(main graph) is invalid: {message}" in invalidity(model(TEXT.format(sizes), 13), 14)


def test_valid() -> None:
    convert_version(model(TEXT.format("int64[2] s = {2, 4}"), 13), 13, compare="off")
