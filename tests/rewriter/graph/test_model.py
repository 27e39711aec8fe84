"""The model under conversion has a scope for each graph."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton

SOURCE = """<ir_version: 8, opset_import: ["" : 18, "f" : 1]>
g (bool c, float x) => (float y) {
    t = f.twice (x)
    y = If (c) <then_branch = a () => (float p) { p = Neg (t) }, else_branch = b () => (float q) { q = Relu (t) }>
}
<domain: "f", opset_import: ["" : 13]> twice (v) => (w) { w = Add (v, v) }"""


def test_functions_have_the_opset_that_they_import() -> None:
    found = Model(Skeleton.of(model(SOURCE)), constants_as_initializers=True)
    assert (found.main.opset, [scope.opset for scope in found.functions]) == (18, [13])
    assert [scope.where for scope in (found.main, *found.functions)] == ["main graph", "function 'twice'"]


def test_graphs_include_branches_and_bodies() -> None:
    found = Model(Skeleton.of(model(SOURCE)), constants_as_initializers=True)
    assert sorted(graph.name for graph in found.graphs) == ["a", "b", "g", "twice"]
    flat = Model(Skeleton.of(model("g (float x) => (float y) { y = Neg (x) }")), constants_as_initializers=True)
    assert flat.graphs == [flat.proto.graph]
