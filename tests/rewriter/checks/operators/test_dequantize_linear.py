"""A DequantizeLinear with more scales than the axis has elements; test_scales has the other cases."""

from __future__ import annotations

from helpers import convert_version, invalidity, model

TEXT = "g (uint8[2,3] x, float[{0}] s, uint8[{0}] z) => (float[2,3] y) {{ y = DequantizeLinear<axis = 1>(x, s, z) }}"


def test_invalid() -> None:
    assert "axis 1 of x has a length of 3, and the scale 2 elements" in invalidity(model(TEXT.format(2), 13), 14)


def test_valid() -> None:
    convert_version(model(TEXT.format(3), 13), 13, compare="off")
