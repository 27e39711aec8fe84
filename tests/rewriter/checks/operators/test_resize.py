"""A Resize with both scales and sizes, or with more or fewer of them than axes."""

from __future__ import annotations

import pytest
from helpers import convert_version, invalidity, model

BOTH = "g (float[1,4] x, float[0] r, float[{}] s, int64[2] z) => (float[A,B] y) {{ y = Resize(x, r, s, z) }}"
INVALID = [
    (11, BOTH.format(2), "it has both scales and sizes"),
    (
        18,
        "g (float[1,1,4,4] x) => (float[A,B,C,D] y) <float[4] s = {1.0, 1.0, 0.5, 0.5}> { y = Resize <axes = [3]> (x, , s) }",
        "scales has 4 entries for 1 axes",
    ),
    (
        18,
        "g (float[1,1,4,4] x) => (float[A,B,C,D] y) <int64[1] z = {2}> { y = Resize <axes = [2, 3]> (x, , , z) }",
        "sizes has 1 entries for 2 axes",
    ),
]


@pytest.mark.parametrize(("opset", "text", "message"), INVALID)
def test_invalid(opset: int, text: str, message: str) -> None:
    assert invalidity(model(text, opset), opset + 1).endswith(f"(main graph) is invalid: {message}")


def test_valid() -> None:
    convert_version(model(BOTH.format(0), 11), 11, compare="off")
