"""What rules ask about values, and the refusals where nothing is known."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.node import Node
from split_rewrite.rewriter.storage.skeleton import Skeleton

SOURCE = """<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
g (float[N,4] x, int64[2] s) => (float[A,B] y) <int64[2] c = {2, 3}, int64[2] s = {2, 2}> {
    m = mine.Op (x)
    y = Concat <axis = 0> (x, m, s, c)
}"""


def concat() -> Node:
    """The Concat, whose inputs are: a model input, a value of another domain, an input with a default, and a constant."""
    scope = Model(Skeleton.of(model(SOURCE)), constants_as_initializers=True).main
    return Node(scope.graph.node[1], scope, 18)


def test_what_a_caller_may_override_is_no_constant() -> None:
    node = concat()
    assert node.constant(2) is None
    with pytest.raises(
        Unconvertible, match="the older form needs sizes as a constant, and 's' is a default that callers may override"
    ):
        node.const_input(2, "sizes")
    with pytest.raises(Unconvertible, match="the older form needs sizes as a constant, and 'x' is computed at run time"):
        node.const_input(0, "sizes")
    assert node.const_input(3, "sizes").tolist() == [2, 3]


def test_what_is_unknown_is_refused_by_its_name() -> None:
    node = concat()
    for ask, message in [
        (lambda: node.need_rank(1), "the rank of 'm' is unknown"),
        (lambda: node.need_shape(0), r"the shape \(N, 4\) of 'x' is not fully known"),
        (lambda: node.need_dimension(0), "the axis dimension 'N' of 'x' is unknown"),
    ]:
        with pytest.raises(Unconvertible, match=message):
            ask()


def test_an_absent_value_has_no_type() -> None:
    node = concat()
    assert (node.type(7), node.shape(""), node.rank(9), node.elem_type(""), node.constant(8)) == (None,) * 5


def test_what_is_known_is_told() -> None:
    node = concat()
    assert (node.shape(), node.rank("x"), node.dimension(-1), node.need_dimension(1)) == (("N", 4), 2, 4, 4)
    assert (node.type_string("c"), node.need_shape("c")) == ("tensor(int64)", (2,))
