"""What a graph states about its values, apart from what follows from its nodes."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.graph.knowledge.place import Stated
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.opsets.type_protos import shape_of, type_string
from split_rewrite.rewriter.storage.skeleton import Skeleton

SOURCE = """g (float[N,4] x, int64[2] s) => (float[A,B] y) <int64[2] s = {1, 2}, float[4] w = {1, 2, 3, 4}, float[7,7] h> {
    h = Add (x, w)
    y = Reshape (h, s)
}"""


def stated(ir_version: int = 8) -> Stated:
    return Model(Skeleton.of(model(SOURCE, 13, ir_version)), constants_as_initializers=True).main.stated


def test_declared_types_are_those_in_the_file_even_if_they_are_wrong() -> None:
    found = {name: shape_of(kind) for name, kind in stated().declared.items()}
    assert found == {"x": ("N", 4), "s": (2,), "w": (4,), "h": (7, 7), "y": ("A", "B")}


def test_inputs_and_stored_values_are_given_and_claims_are_not() -> None:
    assert sorted(stated().given) == ["s", "w", "x"]


def test_the_kind_of_a_value_is_its_type_without_the_claimed_shape() -> None:
    kind = stated().kind("h")
    assert kind is not None and (type_string(kind), shape_of(kind)) == ("tensor(float)", None)
    assert stated().kind("nobody") is None


def test_an_initializer_that_is_an_input_may_be_overridden_from_ir_4_on() -> None:
    assert stated().overridable == frozenset({"s"})
    assert stated(3).overridable == frozenset()
