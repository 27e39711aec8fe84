"""What the inputs of a model promise."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton

TEXT = "g (float[N,M] x, float[N,2] z, float[2] s) => (float y) <float[2] s = {1, 2}, float[2] t = {1, 2}> { y = ReduceMax (x) }"


@pytest.mark.parametrize(("ir_version", "expected"), [(3, set()), (8, {"s"})])
def test_only_initializers_that_are_inputs_can_be_overridden(ir_version: int, expected: set[str]) -> None:
    whole = Model(Skeleton.of(model(TEXT, ir_version=ir_version)), constants_as_initializers=True)
    assert whole.overridable == expected == whole.main.stated.overridable


def test_a_symbol_that_occurs_once_is_the_length_of_one_axis() -> None:
    whole = Model(Skeleton.of(model(TEXT)), constants_as_initializers=True)
    assert whole.input_symbols == {"N", "M"}
    assert whole.input_dimensions == {"M": ("x", 1)}
