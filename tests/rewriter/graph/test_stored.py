"""Attributes that cannot be read as they are stored."""

from __future__ import annotations

import onnx
import pytest
from helpers import convert_version, model, refusal

from split_rewrite.rewriter.errors import InvalidModelError


@pytest.mark.parametrize(
    ("node", "opset", "target"),
    [
        ('Constant<value_string = "????">()', 13, 9),
        ('Constant<value_strings = ["????"]>()', 13, 9),
    ],
    ids=["constant", "constants"],
)
def test_an_attribute_that_is_not_utf8_is_refused(node: str, opset: int, target: int) -> None:
    proto = model(f"g (float[2] x, int64[2] p) => (float[2] z) {{y = {node}\n z = Relu(x)}}", opset)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"????", b"\x80\x80??"))
    assert "is b'\\x80\\x80??', which is not UTF-8" in refusal(damaged, target)


def test_a_choice_that_is_not_utf8_is_none_of_the_listed() -> None:
    proto = model('g (float[2] x, int64[2] p) => (float[2] y) { y = Pad<mode = "????">(x, p) }', 19)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"????", b"\x80\x80??"))
    with pytest.raises(InvalidModelError, match=r"mode is '.*x80.*x80\?\?'; Pad has only constant, reflect, edge, wrap"):
        convert_version(damaged, 18)
