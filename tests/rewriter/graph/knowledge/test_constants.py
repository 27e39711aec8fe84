"""Constants that are computed."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import model
from onnx import TensorProto, helper

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.opsets import by_reference, facts
from split_rewrite.rewriter.storage.skeleton import Skeleton

LONG = 20_000


def scope_of(text: str) -> Scope:
    return Model(Skeleton.of(model(text)), constants_as_initializers=True).main


def test_a_long_sum_needs_no_stack() -> None:
    scope = scope_of("g (int64[1] x) => (int64[1] y) <int64[1] s0 = {0}, int64[1] one = {1}> { y = Add (x, one) }")
    for index in range(LONG):
        scope.register(helper.make_node("Add", [f"s{index}", "one"], [f"s{index + 1}"]), 18)
    value = scope.constant(f"s{LONG}")
    assert value is not None and value.tolist() == [LONG]


def test_the_first_operand_that_is_not_constant_ends_the_search() -> None:
    scope = scope_of("g (int64[1] x) => (int64[1] y) <int64[1] one = {1}> { a = Add (one, one)\n y = Add (x, a) }")
    assert scope.constant("y") is None
    assert "a" not in scope.records


def test_all_outputs_are_computed_at_once() -> None:
    scope = scope_of("g (float[2,3] x) => (int64[2] y) { s = Shape (x)\n y = Identity (s)\n n = Size (x) }")
    assert [scope.constant(name).tolist() for name in ("y", "n")] == [[2, 3], 6]  # type: ignore[union-attr]


# Runtimes do not agree about these, or the reference implementation computes them wrongly.
NOT_COMPUTED = {
    "the order of the input": (13, "y = Unique<sorted = 0>(x)", "int64[3] x = {3, 1, 3}"),
    "the order of the input, of rows": (13, "y = Unique<sorted = 0, axis = 0>(x)", "int64[3] x = {3, 1, 3}"),
    "a broadcast along an axis": (6, "y = Xor<broadcast = 1, axis = 0>(a, b)", "bool[2,2] a = {1, 0, 1, 0}, bool[2] b = {1, 0}"),
    "a broadcast along an axis, of and": (
        *(6, "y = And<broadcast = 1, axis = 0>(a, b)"),
        "bool[2,2] a = {1, 0, 1, 0}, bool[2] b = {1, 0}",
    ),
    "parts that are no outputs": (18, "y, b = Split<num_outputs = 3>(x)", "int64[6] x = {1, 2, 3, 4, 5, 6}"),
    "axes that are empty": (13, "y = Squeeze(x, e)", "int64[1,2] x = {3, 4}, int64[0] e = {}"),
    "the place of a scalar": (13, "y = NonZero(x)", "int64 x = {3}"),
}


def constant(opset: int, node: str, stored: str) -> np.ndarray | None:
    proto = model(f"g () => (int64[N] y) <{stored}> {{ {node} }}", opset, ir_version=4)
    return Model(Skeleton(proto), constants_as_initializers=True).main.constant("y")


@pytest.mark.parametrize(("opset", "node", "stored"), NOT_COMPUTED.values(), ids=NOT_COMPUTED.keys())
def test_what_is_doubted_has_no_value(opset: int, node: str, stored: str) -> None:
    assert constant(opset, node, stored) is None


COMPUTED = {
    "sorted": (13, "y = Unique(x)", "int64[3] x = {3, 1, 3}", [1, 3]),
    "a broadcast to the last axis": (7, "y = Xor(a, b)", "bool[2,2] a = {1, 0, 1, 0}, bool[2] b = {1, 0}", [[0, 0], [0, 0]]),
    "axes that are given": (13, "y = Squeeze(x, e)", "int64[1,2] x = {3, 4}, int64[1] e = {0}", [3, 4]),
    "places in a vector": (13, "y = NonZero(x)", "int64[2] x = {0, 3}", [[1]]),
    "axes that are absent": (13, "y = Squeeze(x)", "int64[1,2] x = {3, 4}", [3, 4]),
}


@pytest.mark.parametrize(("opset", "node", "stored", "expected"), COMPUTED.values(), ids=COMPUTED.keys())
def test_the_same_operators_have_values_where_nobody_doubts_them(opset: int, node: str, stored: str, expected: list[int]) -> None:
    np.testing.assert_array_equal(constant(opset, node, stored), expected)


def test_a_cast_that_runtimes_round_in_their_own_way() -> None:
    assert constant(25, f"h = Cast<to = {TensorProto.INT4}>(x) y = Cast<to = 7>(h)", "float[1] x = {2.5}") is None


# Operators that are computed and have a defect, with the tests above in which they have it. A new one needs a test there.
DOUBTED = {
    *("Add", "And", "Cast", "CenterCropPad", "Div", "Equal", "GatherElements", "Greater", "Less", "Mul", "NonZero"),
    *("OneHot", "Or", "PRelu", "Pad", "Pow", "Resize", "Split", "Squeeze", "Sub", "Unique", "Unsqueeze", "Xor"),
}


def test_every_operator_that_is_computed_and_has_a_defect_is_listed() -> None:
    words = ("reference-wrong", "disputed")
    doubted = {name for word in words for name in facts.with_word(word)}
    assert {name for name in doubted if facts.of(name).has("folds") or by_reference.evaluates(name)} == DOUBTED
