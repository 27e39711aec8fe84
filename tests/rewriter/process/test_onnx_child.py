"""The operations of the child that checks models, called in this process."""

from __future__ import annotations

import marshal

import onnx.parser
import pytest
from helpers import model

from split_rewrite.rewriter.process import onnx_child

RELU = model("g (float[2,N] x) => (float[2,N] y) { h = Relu (x)\n y = Neg (h) }", 13)


def answer(operation: str, *arguments: object) -> tuple[bool, object]:
    return marshal.loads(onnx_child._answer(memoryview(marshal.dumps((operation, arguments)))))


def test_a_complaint_of_onnx_is_an_answer_in_one_line() -> None:
    broken = model("g (float[2] x) => (float[2] y) { y = Relu (x, x) }", 13)
    is_right, complaint = answer("check_model", broken.SerializeToString(), True)
    assert not is_right and isinstance(complaint, str)
    assert "Relu" in complaint and "\n" not in complaint


def test_a_valid_model_has_no_answer_but_that() -> None:
    assert answer("check_model", RELU.SerializeToString(), True) == (True, None)


def test_a_model_is_inferred() -> None:
    _, found = answer("infer_model", RELU.SerializeToString())
    assert isinstance(found, bytes)
    assert [value.name for value in onnx.ModelProto.FromString(found).graph.value_info] == ["h"]


@pytest.mark.parametrize(("text", "is_right"), [("y = Relu (x)", True), ("y = Relu ()", False)])
def test_single_nodes_are_checked(text: str, is_right: bool) -> None:
    node = onnx.parser.parse_node(text)
    assert answer("check_nodes", [node.SerializeToString()], 13, 8)[0] is is_right
