"""What schemas say about types."""

from __future__ import annotations

import onnx.parser
import pytest
from onnx import TensorProto

from split_rewrite.rewriter.opsets.schema_types import fixed_types, is_inferred, tied_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = Less (a, b)", TensorProto.BOOL),
        ("y = Shape (a)", TensorProto.INT64),
        ("y = Cast <to = 10> (a)", TensorProto.FLOAT16),
        ("y = Add (a, b)", 0),
        ("y = own.Less (a, b)", 0),
    ],
)
def test_outputs_that_have_one_type_only(text: str, expected: int) -> None:
    found = fixed_types(onnx.parser.parse_node(text), 13)
    assert (found["y"].tensor_type.elem_type if found else 0) == expected


def test_values_that_have_the_same_type() -> None:
    assert tied_values(onnx.parser.parse_node("y = Where (c, a, b)"), 13) == [["y", "a", "b"]]
    assert tied_values(onnx.parser.parse_node("y = Mystery (a)"), 13) == []
    assert is_inferred(onnx.parser.parse_node("y = Add (a, b)")) and not is_inferred(onnx.parser.parse_node("y = Mystery (a)"))
