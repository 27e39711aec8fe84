"""The document of an error."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import Blocker, OutOfTimeError, UnconvertibleError
from split_rewrite.rewriter.document import head, outcome_of, unread

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(("status", "outcome"), [(1, "not convertible"), (2, "unusable"), (3, "failed a check"), (4, "failed")])
def test_a_status_is_an_outcome(status: int, outcome: str) -> None:
    assert outcome_of(status) == outcome


def test_a_refusal_has_the_document_of_a_report() -> None:
    error = UnconvertibleError([Blocker("Split", "cut", "main graph", "18→17", "the rank of 'x' is unknown")])
    document = error.to_dict()
    assert document.keys() == head("", 0, "", unread(""), None, []).keys()
    assert (document["outcome"], document["exit_status"], document["output"]) == ("not convertible", 1, None)
    assert document["blockers"][0]["code"] == "unknown.rank"
    assert OutOfTimeError("late").to_dict()["outcome"] == "failed"
