"""What the documentation site is made of: pages of operators, the API, the gallery, and the check of links. Sphinx is not needed."""

from __future__ import annotations

from pathlib import Path

import api_page
import broken_links
import gallery
import operator_pages
from messages import refusals

from split_rewrite import rewriter
from split_rewrite.rewriter.engine.registry import registry


def test_a_page_says_what_happens_on_each_step() -> None:
    page = operator_pages.page("Split")
    assert "Versions: 1, 2, 11, 13, 18." in page
    rows = [line for line in page.splitlines() if line.startswith("| 12 ↔ 13 |")]
    assert len(rows) == 1
    assert "attributes gone: `split`; inputs new: `split`" in rows[0]
    assert "The attribute split becomes an input." in rows[0]
    assert "Constant sizes become the attribute" in rows[0]


def test_a_page_says_what_is_refused_and_draws_what_is_written() -> None:
    page = operator_pages.page("RoiAlign")
    assert "| 16→15 | before opset 16 RoiAlign does not shift the regions, and … is … | set it to output\\_half\\_pixel" in page
    assert "`roi_align.add_output_half_pixel`, opset 10 → 16" in page
    assert 'class="after"' in page


def test_operators_without_a_form_in_older_opsets_say_so() -> None:
    assert "## Before opset 20\n\nIt is refused" in operator_pages.page("StringConcat")
    assert "[StringConcat](StringConcat.md) | 20 | refused" in operator_pages.index()


def test_refusals_of_helpers_are_those_of_the_rule() -> None:
    rule = next(rule for rule in registry if rule.name == "split.axis_from_the_front")
    assert [reason for reason, _ in refusals(rule.apply)] == ["axis=… is out of range for rank …"]  # type: ignore[arg-type]


def test_the_api_page_has_every_public_name() -> None:
    page = api_page.page()
    assert [name for name in rewriter.__all__ if f"{api_page.PACKAGE}.{name}\n" not in page] == []


def test_the_gallery_has_five_reports() -> None:
    assert list(gallery.commands()) == ["gpt2.html", "detector.html", "ragged.html", "sequence.html", "refused.html"]
    text = (operator_pages.ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert all(f'<a href="../gallery/{name}">' in text and f'src="../gallery/{name}"' in text for name in gallery.commands())


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text('<a id="here" href="#here"></a><a href="sub/b.html#there"></a><a href="https://onnx.ai"></a>')
    (tmp_path / "sub" / "b.html").write_text(
        '<p id="there"><a href="../a.html#here"></a><a href="../a.html#gone"></a><img src="no.png"><a href="c.html"></a>'
    )
    assert broken_links.broken(tmp_path) == [
        "sub/b.html: ../a.html#gone leads nowhere",
        "sub/b.html: no.png leads nowhere",
        "sub/b.html: c.html leads nowhere",
    ]


def test_each_page_of_the_documentation_is_in_the_contents() -> None:
    listed = (operator_pages.ROOT / "docs/site/index.md").read_text(encoding="utf-8").splitlines()
    pages = [f"docs/{path.stem}" for path in (operator_pages.ROOT / "docs").glob("*.md")]
    assert sorted(set(pages) - set(listed)) == []
