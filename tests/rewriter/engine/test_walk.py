"""The walk over a graph: nodes are replaced in their place."""

from __future__ import annotations

from collections.abc import Iterator

import helpers
import pytest
from onnx import NodeProto, helper

from split_rewrite.rewriter.engine.walk import Walk, hand_on
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.graph.scope import Scope
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick


class Twice(Walk):
    """Replaces each Neg by two."""

    def run(self) -> None:
        self._walk(self._model.main)

    def _replaced(self, scope: Scope) -> Iterator[tuple[int, list[NodeProto]]]:
        for index, node in enumerate(scope.graph.node):
            if node.op_type == "Neg":
                middle = f"{node.output[0]}_half"
                yield index, [helper.make_node("Abs", node.input, [middle]), helper.make_node("Neg", [middle], node.output)]


def test_nodes_are_replaced_in_their_place_and_known_afterwards() -> None:
    text = "g (float[4] x) => (float[4] y) { a = Neg(x) b = Relu(a) y = Neg(b) }"
    model = Model(Skeleton.of(helpers.model(text, 13)), constants_as_initializers=True)
    Twice(model).run()
    assert [node.op_type for node in model.proto.graph.node] == ["Abs", "Neg", "Relu", "Abs", "Neg"]
    assert list(model.main.labels) == ["Abs", "Neg", "Relu", "Abs", "Neg"]


def test_metadata_goes_to_new_nodes_that_have_none() -> None:
    old, new, other = (helper.make_node("Relu", ["x"], ["y"]) for _ in range(3))
    old.metadata_props.add(key="layer", value="1")
    other.metadata_props.add(key="layer", value="2")
    hand_on(old, [old, new, other])
    assert [[entry.value for entry in node.metadata_props] for node in (old, new, other)] == [["1"], ["1"], ["2"]]
