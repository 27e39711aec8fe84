"""The parts of pages: tables, names and numbers as HTML."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.report.page_parts import MAX_NAMES, MAX_ROWS, html_name, html_places, signed, step, table

pytestmark = pytest.mark.quick


def test_a_table_marks_numbers_and_heads_of_rows() -> None:
    html = table("Counts & more", ("Operator", "Nodes#"), [("Split", "3")])
    assert '<th scope="col">Operator</th><th scope="col" class="number">Nodes</th>' in html
    assert '<th scope="row">Split</th><td class="number">3</td>' in html
    assert 'aria-label="Counts &amp; more"' in html
    assert table("Nothing", ("Operator",), []) == ""


def test_a_long_table_is_cut_and_says_so() -> None:
    html = table("Long", ("Name",), [(str(number),) for number in range(MAX_ROWS + 5)])
    assert html.count('<th scope="row">') == MAX_ROWS
    assert "And 5 more rows" in html


def test_names_are_text_and_only_other_graphs_than_the_main_one_are_named() -> None:
    assert html_name("<b>") == "<code><bdi>&lt;b&gt;</bdi></code>"
    assert html_places([("a", "main graph"), ("b", "body of Loop")]) == f"{html_name('a')}, {html_name('b')} (body of Loop)"
    assert html_places([("a", "main graph")] * (MAX_NAMES + 3)).endswith(", and 3 more")


def test_numbers() -> None:
    assert [signed(1200), signed(-3)] == ["+1,200", "−3"]
    assert [step(18, 18), step(1000, 2), step(None, 3)] == ["18", "1,000 → 2", "none"]
