"""Messages of runtimes are shown on one line."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.execution.messages import one_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError(), "ValueError"),
        (ValueError("\n  first \nsecond"), "first"),
        (ValueError(" \n"), "no message"),
        (ValueError("x" * 300), "x" * 239 + "…"),
    ],
    ids=["nothing", "several-lines", "blank", "long"],
)
def test_one_line(error: Exception, line: str) -> None:
    assert one_line(error) == line
