"""What a conversion says of itself."""

from __future__ import annotations

import onnx
import pytest

from split_rewrite.rewriter.engine.outcome import Change, Outcome, Remark, all_gone

pytestmark = pytest.mark.quick

WARNING = Remark("warning", "Reshape", "r", "main graph", "fails below opset 14")
LEFT = Remark("left", "Split", "s", "main graph", "its sizes are not known")


def test_two_parts_of_a_conversion_are_told_as_one() -> None:
    first = Outcome(remarks=[LEFT], changes=[Change("a.b", "Split", "s", "main graph")], inexact={"a.b"})
    both = first.followed_by(Outcome(remarks=[WARNING], inexact={"c.d"}, sums=True))
    assert (both.remarks, both.inexact, both.sums) == ([LEFT, WARNING], {"a.b", "c.d"}, True)
    assert both.warnings == [WARNING]
    assert list(map(str, both.changes)) == ["a.b: Split 's' (main graph)"]


@pytest.mark.parametrize(("first", "later"), [(True, False), (False, True), (True, True), (False, False)])
def test_sums_in_either_part_are_sums(first: bool, later: bool) -> None:
    assert Outcome(sums=first).followed_by(Outcome(sums=later)).sums is (first or later)


def test_a_warning_can_stop_the_conversion() -> None:
    blocker = WARNING.as_blocker("--strict treats warnings about nodes as errors")
    assert str(blocker) == ("Reshape 'r' (main graph): fails below opset 14. Hint: --strict treats warnings about nodes as errors")


@pytest.mark.parametrize(("removed", "is_gone"), [("", False), ("a", False), ("ab", True), ("abc", True)])
def test_a_node_is_gone_with_all_of_its_values(removed: str, is_gone: bool) -> None:
    """An output that is absent says nothing."""
    assert all_gone(onnx.helper.make_node("Split", ["x"], ["a", "", "b"]), set(removed)) is is_gone
