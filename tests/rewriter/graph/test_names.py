"""New names are unique in the whole model, and uses are counted with what rules add."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton


def the_model() -> Model:
    source = model("g (float[2] x) => (float[2] y) { [node] a = Relu (x)\n b = Add (a, a)\n y = Neg (b) }")
    return Model(Skeleton.of(source), constants_as_initializers=True)


def test_a_new_name_is_free() -> None:
    whole = the_model()
    assert [whole.fresh_name(name) for name in ("a", "made", "made", "node")] == ["a_2", "made", "made_2", "node_2"]
    assert whole.node_name("node") != "node" and whole.node_name("other") == "other"


def test_uses_are_counted() -> None:
    whole = the_model()
    assert [whole.is_read_once(name) for name in "abx"] == [False, True, True]
    assert whole.is_read("y") and not whole.is_read("nothing")
    whole.new_uses.add("b")
    assert not whole.is_read_once("b")


def test_a_value_that_stands_for_another_is_replaced_by_it() -> None:
    whole = the_model()
    whole.main.alias("a", "x")
    whole.main.alias("b", "a")
    assert whole.replaced == {"a": "x", "b": "x"}
