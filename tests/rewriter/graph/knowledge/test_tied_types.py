"""Groups of values that have one type."""

from __future__ import annotations

import pytest
from onnx import helper

from split_rewrite.rewriter.graph.knowledge.tied_types import tied_groups

pytestmark = pytest.mark.quick


def test_groups_that_share_a_value_become_one() -> None:
    nodes = [
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Shape", ["e"], ["f"]),
        helper.make_node("Add", ["b", "c"], ["g"]),
    ]
    groups = tied_groups(nodes, 18)
    assert sorted(groups["a"]) == ["a", "b", "c", "d", "g"]
    assert groups["a"] is groups["g"] and "e" not in groups


def test_a_node_of_another_domain_ties_nothing() -> None:
    assert tied_groups([helper.make_node("Relu", ["a"], ["b"], domain="other")], 18) == {}
