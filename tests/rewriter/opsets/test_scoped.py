"""A name in a body may stand for another value elsewhere: types and constants are those of the place."""

from __future__ import annotations

from helpers import model

from split_rewrite.rewriter.opsets.scoped import scoped_nodes
from split_rewrite.rewriter.opsets.type_protos import shape_of

BRANCHES = (
    "g (bool b, float[4] x) => (float[K] y) <float[2] k = {1, 2}> { y = If (b) <then_branch = t () => (float[2] r) "
    "{ W = Neg (k) r = Abs (W) }, else_branch = e () => (float[4] s) { W = Neg (x) s = Abs (W) }> }"
)


def test_names_of_two_values() -> None:
    proto = model(BRANCHES.replace("W", "w"), 18)
    inner = [graph.g for graph in proto.graph.node[0].attribute]
    for graph, length in zip(inner, (2, 4), strict=True):
        graph.value_info.append(model(f"g () => (float[{length}] w) {{ w = Identity (w) }}", 18).graph.output[0])
    found = [
        (node.op_type, shape_of(types[node.input[0]]), node.input[0] in constants) for node, types, constants in scoped_nodes(proto)
    ]
    assert found == [
        ("If", (), False),
        ("Neg", (2,), True),
        ("Abs", (2,), False),
        ("Neg", (4,), False),
        ("Abs", (4,), False),
    ]


def test_a_constant_outside_is_none_where_its_name_is_given_anew() -> None:
    proto = model(BRANCHES.replace("Neg (k)", "Neg (x)").replace("W", "k"), 18)
    assert [node.op_type for node, _, constants in scoped_nodes(proto) if "k" in constants] == ["If"]
