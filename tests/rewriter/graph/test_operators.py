"""Nodes written as formulas: what is made, and what each call returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from split_rewrite.rewriter.graph.operators import Operators


class Made(list[tuple[Any, ...]]):
    """The nodes that were made, and constants; each output is called after its operator."""

    def node(
        self, op_type: str, inputs: Sequence[str], outputs: Sequence[str] | int, attributes: dict[str, Any], opset: int | None
    ) -> list[str]:
        self.append((op_type, list(inputs), outputs, attributes, opset))
        return [f"{op_type}{index}" for index in range(outputs)] if isinstance(outputs, int) else list(outputs)

    def constant(self, value: Any, dtype: Any) -> str:
        self.append((value, dtype))
        return "constant"


def test_a_name_that_is_no_operator() -> None:
    op = Operators(Made().node, Made().constant)
    with pytest.raises(AttributeError, match="no operator is called 'mul'"):
        op.mul("a", "b")


def test_formulas() -> None:
    made = Made()
    op = Operators(made.node, made.constant)
    assert op.Mul("x", op.Sigmoid("x")) == "Mul0"
    assert made == [("Sigmoid", ["x"], 1, {}, None), ("Mul", ["x", "Sigmoid0"], 1, {}, None)]


def test_outputs_are_named_or_counted() -> None:
    made = Made()
    op = Operators(made.node, made.constant)
    assert op.Add("a", "b", output="y") == "y"
    assert op.Add("a", "b", output="") == "Add0"
    assert op.TopK("x", "k", outputs=2) == ["TopK0", "TopK1"]
    assert op.Split("x", outputs=["a", "b"]) == ["a", "b"]
    assert op.Split("x", outputs=1) == ["Split0"]


def test_attributes_that_are_none_are_left_out() -> None:
    made = Made()
    Operators(made.node, made.constant).ReduceSum("x", axes=None, keepdims=0, opset=12)
    assert made == [("ReduceSum", ["x"], 1, {"keepdims": 0}, 12)]


def test_constants() -> None:
    made = Made()
    op = Operators(made.node, made.constant)
    assert op.const(0.5, 1) == op.int64([3]) == "constant"
    assert made == [(0.5, 1), ([3], "int64")]
