"""A Compress whose condition is a matrix."""

from __future__ import annotations

from helpers import convert_version, invalidity, model

TEXT = "g (float[3,2] x, bool[{}] c) => (float[N] y) {{ y = Compress (x, c) }}"


def test_invalid() -> None:
    found = invalidity(model(TEXT.format("3,2"), 11), 12)
    assert found.endswith("(main graph) is invalid: the condition has rank 2, and needs 1")


def test_valid() -> None:
    convert_version(model(TEXT.format("6"), 11), 11, compare="off")
