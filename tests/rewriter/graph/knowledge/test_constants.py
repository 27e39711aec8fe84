"""Constants that are computed."""

from __future__ import annotations

from helpers import model
from onnx import helper

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
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
