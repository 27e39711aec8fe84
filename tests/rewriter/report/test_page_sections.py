"""The sections of a page, and what they say of each kind of conversion."""

from __future__ import annotations

import re

import pytest
from page_parser import Page

from split_rewrite.rewriter.report.data import ReportData
from split_rewrite.rewriter.report.page_sections import about_the_result

SECTIONS = {
    "converted": ["changes", "operators", "rules", "comparison"],
    "sequences": ["changes", "operators", "rules", "comparison"],
    "wide": ["changes", "operators", "rules", "comparison"],
    "subgraphs": ["changes", "operators", "rules", "comparison"],
    "untouched": ["changes", "operators", "comparison"],
    "refused": ["blockers"],
    "dry-run": ["blockers", "reach", "operators"],
    "unusable": [],
    "hostile": ["changes", "operators", "rules", "comparison"],
    "inexact": ["changes", "operators", "rules", "comparison"],
}


@pytest.mark.parametrize("kind", SECTIONS)
def test_sections(kinds: dict[str, str], kind: str) -> None:
    assert Page(kinds[kind]).sections == SECTIONS[kind]


WORDS = {
    "converted": [
        "Converted to opset 12",
        "18 → 12",
        "Split → Split",
        "num_outputs = 3",
        "split = [3, 3, 1]",
        "split. spell_ out_ parts",
        "float[7]",
    ],
    "sequences": ["Rewritten at opset 18", "SplitToSequence, SequenceAt ×2 → Split", "was head", "[3, 3, 1]"],
    "wide": ["5 more"],
    "subgraphs": ["If 'y' then_branch", "Split u (If 'y' then_branch)"],
    "untouched": ["No node had to change.", "no node had to change"],
    "refused": ["Cannot be converted", "2 nodes cannot be converted. Nothing was written.", "StringConcat", "a , b", "20→19"],
    "dry-run": ["Cannot be converted to opset 18", "From opset 20, the model reaches opset 20 to"],
    "unusable": ["the target opset 99 is unknown", "Nothing was written."],
    "inexact": ["the last bits may differ", "Gelu →"],
}


@pytest.mark.parametrize("kind", WORDS)
def test_words(kinds: dict[str, str], kind: str) -> None:
    words = Page(kinds[kind]).words
    assert [wanted for wanted in WORDS[kind] if wanted not in words] == []


def test_counts_of_nodes_and_operators(kinds: dict[str, str]) -> None:
    assert re.search(r"Nodes 1 → \d+ 1 → \d+ operators", Page(kinds["inexact"]).words)
    assert "Nodes 1 1 operator " in Page(kinds["converted"]).words


def test_warnings_about_the_names_of_runtimes() -> None:
    warnings = ("nothing is known about A 1 itself; what 2 does not take is avoided", "no release of <B> was named: 3 is taken")
    assert about_the_result(ReportData(18, 18, 8, 8)) == ""
    assert about_the_result(ReportData(18, 18, 8, 8, about_runtimes=warnings, not_loaded="c")) == (
        f"<p>{warnings[0]}</p><p>no release of &lt;B&gt; was named: 3 is taken</p><p>c</p>"
    )
