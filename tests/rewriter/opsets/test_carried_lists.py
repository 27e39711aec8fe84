"""Of a list that a Loop carries, onnx knows the elements of the first turn: what is inferred holds for later turns as well."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import model, run

from split_rewrite.rewriter import convert_version
from split_rewrite.rewriter.opsets.inference import infer_model
from split_rewrite.rewriter.opsets.type_protos import shape_of

GROWS = (
    "g (float[3] x, float[{0}] z, int64 n) => (float[K] y, float[L] w) <int64 last = {{-1}}> {{ q = SequenceConstruct (x) "
    "s = Loop (n, , q) <body = b (int64 i, bool c, seq(float[{1}]) t) => (bool co, seq(float[{1}]) u) "
    "{{ co = Identity (c) u = SequenceInsert (t, z) }}> e = SequenceAt (s, last) y, w = Split <axis = 0, num_outputs = 2> (e) }}"
)


@pytest.mark.parametrize(("body", "shape"), [("P", None), ("3", (3,))], ids=["may change", "stays"])
def test_the_elements_behind_the_last_turn(body: str, shape: tuple[int, ...] | None) -> None:
    proto = model(GROWS.format(3, body), 18)
    inferred = infer_model(proto)
    assert inferred is not None
    types = {value.name: value.type for value in inferred.graph.value_info}
    assert shape_of(types["e"]) == shape
    assert [list(node.input) for node in inferred.graph.node] == [list(node.input) for node in proto.graph.node]
    assert {value.name for value in inferred.graph.value_info} <= {"q", "s", "e"}


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_parts_of_a_longer_element(turns: int) -> None:
    proto = model(GROWS.format(4, "P"), 18)
    result = convert_version(proto, 13).model
    feeds = {"x": np.arange(3, dtype=np.float32), "z": np.arange(4, dtype=np.float32), "n": np.array(turns)}
    for expected, got in zip(run(proto, feeds), run(result, feeds), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_an_optional_that_a_loop_carries() -> None:
    text = (
        "g (float[3] x, float[4] z, int64 n) => (float[K] y) { q = Optional (x) s = Loop (n, , q) <body = b (int64 i, bool c, "
        "optional(float[P]) t) => (bool co, optional(float[P]) u) { co = Identity (c) u = Optional (z) }> e = OptionalGetElement (s) "
        "y = Neg (e) }"
    )
    inferred = infer_model(model(text, 18))
    assert inferred is not None
    types = {value.name: value.type for value in inferred.graph.value_info}
    assert shape_of(types["e"]) is None


def test_nodes_that_onnx_infers_wrongly_beside_it_read_the_list_again() -> None:
    text = (
        "g (bool f, float[2,2] x, float[3] z, int64 n) => (float[3] y, int64[2,K] w) { w = NonZero (x) y = If (f) <then_branch = t () => "
        "(float[K] a) { q = SequenceConstruct (z) last = Constant <value_int = -1> () s = Loop (n, , q) <body = b (int64 i, bool c, "
        "seq(float[P]) t) => (bool co, seq(float[P]) u) { co = Identity (c) u = SequenceInsert (t, z) }> a = SequenceAt (s, last) }, "
        "else_branch = e () => (float[M] b) { b = Neg (z) }> }"
    )
    proto = model(text, 17)
    inferred = infer_model(proto)
    assert inferred is not None
    assert "split-rewrite list" not in str(inferred)
    assert [node.op_type for node in convert_version(proto, 13).model.graph.node] == ["NonZero", "If"]
