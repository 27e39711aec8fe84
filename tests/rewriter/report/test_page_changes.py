"""The rewrites on a page: drawn, or written where that would be too large."""

from __future__ import annotations

import re
from pathlib import Path

import pages
from page_parser import Page

from split_rewrite.rewriter.report.drawing import MAX_NODES
from split_rewrite.rewriter.report.page_changes import MAX_DRAWINGS, MAX_LINES, MAX_SHOWN


def test_a_large_rewrite_is_drawn_with_its_constants_inside(tmp_path: Path) -> None:
    """int64 Max by comparisons of halves at opset 7 is over a hundred nodes."""
    page = Page(
        pages.page("g (int64[4] a, int64[4] b) => (int64[4] c) {c = Max(a, b)}", tmp_path, "-t", "7", "--compare", "off")[1]
    )
    assert page.tags.count("svg") == 2
    assert "scroll large" in page.values("class") and "constant" not in page.values("class")
    assert re.search(r"Cast input 1 = \S+ to = 7", page.words)


def test_the_page_of_many_nodes_is_small(tmp_path: Path) -> None:
    status, text = pages.page(pages.many_nodes(600), tmp_path, "-t", "13", "--compare", "off")
    page = Page(text)
    assert status == 0
    assert len(text.encode()) < 1_000_000
    shown = page.tags.count("article")
    assert MAX_DRAWINGS < shown <= MAX_SHOWN
    assert page.tags.count("svg") == 2 * MAX_DRAWINGS
    assert f"And {150 - shown} more distinct rewrites" in page.words
    assert (
        page.words.count(f"Not drawn, to keep the page small: the {MAX_DRAWINGS} rewrites before it are.") == shown - MAX_DRAWINGS
    )


def test_names_of_any_length_do_not_make_it_large(tmp_path: Path) -> None:
    model = pages.many_nodes(200)
    for node in model.graph.node:
        node.name = node.name * 2000
    _, text = pages.page(model, tmp_path, "-t", "13", "--compare", "off")
    assert len(text.encode()) < 1_000_000


def test_what_is_too_large_to_be_drawn_is_text(tmp_path: Path) -> None:
    count = MAX_NODES + 1
    outputs = ", ".join(f"float[1] y{index}" for index in range(count))
    picks = " ".join(f"y{index} = SequenceAt(s, p{index})" for index in range(count))
    constants = ", ".join(f"int64 p{index} = {{{index}}}" for index in range(count))
    model = f"g (float[{count}] x) => ({outputs}) <{constants}> {{s = SplitToSequence(x) {picks}}}"
    page = Page(pages.page(model, tmp_path)[1])
    assert "svg" not in page.tags
    assert f"Not drawn: it has {count + 1} nodes, and a picture of more than {MAX_NODES} shows nothing." in page.words
    assert f"and {count + 1 - MAX_LINES} more nodes; the JSON report has them all" in page.words
    assert f"SequenceAt ×{count} → Split" in page.words
