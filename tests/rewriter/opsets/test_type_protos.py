"""TypeProtos as text and as Python values."""

from __future__ import annotations

import onnx
import pytest
from helpers import model
from onnx import TensorProto, helper

from split_rewrite.rewriter.opsets import type_protos

INTEGERS = helper.make_tensor_type_proto(TensorProto.INT64, [2, "N", None])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (INTEGERS, "tensor(int64)"),
        (helper.make_sequence_type_proto(INTEGERS), "seq(tensor(int64))"),
        (helper.make_optional_type_proto(helper.make_sequence_type_proto(INTEGERS)), "optional(seq(tensor(int64)))"),
        (helper.make_map_type_proto(TensorProto.STRING, INTEGERS), "map(string,tensor(int64))"),
        (onnx.TypeProto(), None),
    ],
)
def test_types_are_written_as_in_schemas(kind: onnx.TypeProto, expected: str | None) -> None:
    assert type_protos.type_string(kind) == expected


def test_dimensions_are_sizes_symbols_or_unknown() -> None:
    assert type_protos.shape_of(INTEGERS) == (2, "N", None)
    assert type_protos.shape_of(onnx.TypeProto()) is None
    negative = helper.make_tensor_type_proto(TensorProto.FLOAT, [-1, 3])
    assert type_protos.shape_of(negative) == (None, 3)
    assert type_protos.shape_of(helper.make_tensor_type_proto(TensorProto.FLOAT, ["unk__3"])) == (None,)


def test_two_types_have_their_rank_and_equal_sizes_in_common() -> None:
    other = helper.make_tensor_type_proto(TensorProto.INT64, [2, "M", 4])
    assert type_protos.shape_of(type_protos.in_common(INTEGERS, other)) == (2, None, None)
    assert type_protos.in_common(INTEGERS, helper.make_tensor_type_proto(TensorProto.FLOAT, [2])) == onnx.TypeProto()


def test_batches_are_first_dimensions_with_a_name() -> None:
    text = "g (float[N,3] x, float[M] w, float[2,K] k, float[?,L] u, int64[B,S,T] i) => (float[N,3] y) { y = Relu(x) }"
    assert type_protos.batches(model(text, 13).graph) == {"N", "B"}
