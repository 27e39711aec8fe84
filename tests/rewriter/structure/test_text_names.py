"""Failures that come from names which are not valid UTF-8."""

from __future__ import annotations

import re

import onnx
import pytest
from helpers import model

from split_rewrite.rewriter.errors import InvalidModelError
from split_rewrite.rewriter.structure.text_names import names_explained


def test_another_failure_stays_as_it_is() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Relu(x) }", 18)
    with pytest.raises(TypeError, match="something else"), names_explained([proto.graph]):
        raise TypeError("something else")


def test_a_failure_in_a_model_with_a_broken_name_is_explained_by_the_name() -> None:
    proto = model("g (float[2] x) => (float[2] y) { broken = Relu(x)\n y = Relu(broken) }", 18)
    damaged = onnx.ModelProto.FromString(proto.SerializeToString().replace(b"broken", b"\x80roken"))
    with (
        pytest.raises(InvalidModelError, match=re.escape(r"the name b'\x80roken' is not valid UTF-8")),
        names_explained([damaged.graph]),
    ):
        raise TypeError("bytes in place of text")
