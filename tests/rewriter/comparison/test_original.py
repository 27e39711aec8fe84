"""The original as the comparison reads it: what onnx infers, and nothing of values that callers may replace."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.comparison.original import Original
from split_rewrite.rewriter.opsets.type_protos import shape_of
from split_rewrite.rewriter.storage.skeleton import Skeleton


def shape(text: str, name: str, ir_version: int = 8) -> object:
    """The inferred shape of a value of the main graph."""
    original = Original(Skeleton.of(model(text, 13, ir_version)))
    inferred = original.inferred(original.proto.graph)
    assert inferred is not None
    return shape_of(next(value.type for value in inferred.value_info if value.name == name))


DEFAULT = "g (float[6] x, int64[2] s) => (float[a,b] y) <int64[2] s = {2, 3}> { h = Reshape (x, s)\n y = Relu (h) }"


def test_nothing_is_inferred_from_a_value_that_callers_may_replace() -> None:
    assert shape(DEFAULT, "h") is None


def test_before_ir_4_a_stored_value_is_the_value() -> None:
    assert shape(DEFAULT, "h", ir_version=3) == (2, 3)


def test_what_follows_from_the_inputs_is_inferred() -> None:
    assert shape("g (float[N,6] x) => (float[a,b] y) { h = Transpose (x)\n y = Relu (h) }", "h") == (6, "N")
