"""What the pictures of rewrites show as text."""

from __future__ import annotations

from split_rewrite.rewriter.report.drawing import visible


def test_visible() -> None:
    assert visible("a\tb\u202eé漢") == r"a\tb\u202eé漢"
    assert visible("a" * 300) == "a" * 199 + "…"
