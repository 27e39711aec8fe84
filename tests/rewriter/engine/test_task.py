"""A task gives the nodes that rules made beside its node, in order, as tasks of their own."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.engine.task import Task
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton

pytestmark = pytest.mark.quick


def task() -> Task:
    """An Abs, and a rule that is about to write nodes for opset 13."""
    whole = Model(Skeleton(model("g (float[2] x) => (float[2] y) { y = Abs (x) }", 18)), constants_as_initializers=True)
    found = Task(whole.main.graph.node[0], whole.main, 18, 0)
    found.begin_rule(13)
    return found


def test_results_stand_in_order() -> None:
    node = task()
    node.set_input(0, node.op.Neg("x"))
    inner = node.detach_output(0, "inner")
    node.after.Relu(inner, output="y")
    assert [(made.op_type, made.opset) for made in node.results()] == [("Neg", 13), ("Abs", 18), ("Relu", 13)]
    assert all(isinstance(made, Task) for made in node.results())
    assert node.changed and node.has_company
    assert len(node.take_results()) == 3 and node.results() == [node]


def test_nodes_of_a_later_rule_come_before_those_of_an_earlier_one() -> None:
    node = task()
    node.after.Neg(node.detach_output(0, "first"), output="y")
    node.begin_rule(14)
    node.after.Relu(node.detach_output(0, "second"), output="y_first")
    assert [made.op_type for made in node.results()] == ["Abs", "Relu", "Neg"]


def test_a_removed_node_is_no_result_and_made_nodes_know_why() -> None:
    node = task()
    node.explain("the reason", "the hint")
    node.op.Neg("x", output="y")
    node.remove()
    (made,) = node.results()
    assert node.removed and made.op_type == "Neg" and made.why == ("the reason", "the hint")
