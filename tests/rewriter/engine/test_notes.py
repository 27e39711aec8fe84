"""Notes on nodes: each blocker once, and nothing about nodes that are gone in the end."""

from __future__ import annotations

import pytest
from helpers import model

from split_rewrite.rewriter.engine.notes import Notes
from split_rewrite.rewriter.engine.task import Task
from split_rewrite.rewriter.errors import Unconvertible
from split_rewrite.rewriter.graph.model import Model
from split_rewrite.rewriter.storage.skeleton import Skeleton


def task() -> Task:
    scope = Model(Skeleton.of(model("g (float x) => (float y) { [first] y = Relu (x) }")), constants_as_initializers=True).main
    return Task(scope.graph.node[0], scope, 18, 0)


@pytest.mark.parametrize(("removed", "blockers"), [(set(), 1), ({"y"}, 0)])
def test_a_node_is_a_blocker_once_and_only_if_it_is_there_in_the_end(removed: set[str], blockers: int) -> None:
    notes, node = Notes(), task()
    for _ in range(2):
        notes.block(node, None, Unconvertible("it cannot be", "change it"), (node.op_type, node.name))
    notes.finish(removed, ())
    assert len(notes.outcome.blockers) == blockers
    for blocker in notes.outcome.blockers:
        assert (blocker.op_type, blocker.node, blocker.reason, blocker.hint) == ("Relu", "first", "it cannot be", "change it")


def test_the_reason_why_a_node_was_left_goes_with_the_node() -> None:
    notes, node = Notes(), task()
    notes.left(node, "its sizes are computed")
    notes.remark("warning", node, "it is odd")
    notes.finish({"y"}, ())
    assert [(remark.kind, remark.message) for remark in notes.outcome.remarks] == [("warning", "it is odd")]
