"""Declared types of inputs: their text, and what holds numbers."""

from __future__ import annotations

import pytest
from onnx import TensorProto, TypeProto, helper

from split_rewrite.rewriter.comparison.inputs.declared_types import declared_shape, holds_floats, holds_integers, type_text

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, ["batch", 3])
TYPES = {
    "float32[batch,3]": FLOATS,
    "int64[?]": helper.make_tensor_type_proto(TensorProto.INT64, [None]),
    "string of unknown rank": helper.make_tensor_type_proto(TensorProto.STRING, None),
    "bfloat16[]": helper.make_tensor_type_proto(TensorProto.BFLOAT16, []),
    "seq(float32[batch,3])": helper.make_sequence_type_proto(FLOATS),
    "optional(float32[batch,3])": helper.make_optional_type_proto(FLOATS),
    "no type": TypeProto(),
}


@pytest.mark.parametrize(("text", "declared"), TYPES.items(), ids=TYPES)
def test_the_text_of_a_type(text: str, declared: TypeProto) -> None:
    assert type_text(declared) == text


def test_the_shape_of_the_elements_counts() -> None:
    assert declared_shape(helper.make_sequence_type_proto(FLOATS)) == ("batch", 3)
    assert declared_shape(TYPES["string of unknown rank"]) is None


def test_what_may_need_small_values() -> None:
    assert [holds_integers(declared) for declared in TYPES.values()] == [False, True, True, False, False, False, False]
    assert [holds_floats(declared) for declared in TYPES.values()] == [True, False, False, True, True, True, False]
