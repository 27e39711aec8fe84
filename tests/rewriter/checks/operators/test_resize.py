"""A Resize with both scales and sizes."""

from __future__ import annotations

from helpers import convert_version, invalidity, model

TEXT = "g (float[1,4] x, float[0] r, float[{}] s, int64[2] z) => (float[A,B] y) {{ y = Resize(x, r, s, z) }}"


def test_invalid() -> None:
    assert invalidity(model(TEXT.format(2), 11), 12).endswith("(main graph) is invalid: it has both scales and sizes")


def test_valid() -> None:
    convert_version(model(TEXT.format(0), 11), 11, compare="off")
