"""A QuantizeLinear whose output type is not that of its zero point; test_scales has its scales."""

from __future__ import annotations

from helpers import convert_version, invalidity, model

TEXT = "g (float[2] x, float s, uint8 z) => (uint8[2] y) {{ y = QuantizeLinear<output_dtype = {}>(x, s, z) }}"


def test_invalid() -> None:
    message = "output_dtype is int8 and the zero point uint8"
    assert message in invalidity(model(TEXT.format(3), 21, ir_version=10), 22)


def test_valid() -> None:
    convert_version(model(TEXT.format(2), 21, ir_version=10), 21, compare="off")
