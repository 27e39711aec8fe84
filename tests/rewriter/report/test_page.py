"""The report as a page: well-formed, closed in itself, safe against what names hold, bounded, and with the sections that apply."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest
from page_parser import Page

from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.report.finished import Finished, ModelFile
from split_rewrite.rewriter.report.page import make_page


def test_every_kind_is_well_formed_and_refers_to_nothing_outside(kinds: dict[str, str]) -> None:
    for name, text in kinds.items():
        page = Page(text)
        assert text.startswith("<!DOCTYPE html>"), name
        assert not {"script", "iframe", "object", "embed", "img", "form", "base"} & set(page.tags), name
        assert page.values("src") == page.values("style") == page.values("srcset") == [], name
        assert all(value.startswith("#") or value == "data:," for value in page.values("href")), name
        assert not [key for _, key, _ in page.attributes if key.startswith("on")], name
        style = text[text.index("<style>") : text.index("</style>")]
        assert "url(" not in style and "@import" not in style and "@font-face" not in style, name
        assert "http" not in text.replace("http-equiv", ""), name


def test_ids_are_unique_and_what_refers_to_them_finds_them(kinds: dict[str, str]) -> None:
    for name, text in kinds.items():
        page = Page(text)
        ids = page.values("id")
        assert len(set(ids)) == len(ids), name
        referred = [value[1:] for value in page.values("href") if value.startswith("#")]
        referred += [one for value in page.values("aria-labelledby") for one in value.split()]
        assert set(referred) <= set(ids), name


def test_accessible(kinds: dict[str, str]) -> None:
    for name, text in kinds.items():
        page = Page(text)
        assert ("html", "lang", "en") in page.attributes
        assert page.tags.count("h1") == page.tags.count("main") == 1
        assert page.values("role").count("img") == page.tags.count("svg") == page.tags.count("desc"), name
        assert page.tags.count("table") == page.tags.count("thead"), name
        assert page.values("scope").count("col") + page.values("scope").count("row") == page.tags.count("th"), name


def test_hostile_names_are_text(kinds: dict[str, str]) -> None:
    text = kinds["hostile"]
    assert "<script" not in text and "&lt;/svg&gt;&lt;script&gt;alert(&#x27;&amp;&#x27;)" in text
    assert r"\x07\u202e\n" in Page(text).words
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_paths_and_messages_are_text() -> None:
    text = make_page(
        Finished(ModelFile(pages.HOSTILE, f"/none/{pages.HOSTILE}.onnx"), None, None, ValueError(pages.HOSTILE + "\udc80"), 2)
    )
    assert "<script" not in text and r"\udc80" in text
    Page(text)


def test_a_failed_report_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("split_rewrite.rewriter.report.page.html_text", fail)
    source, report = tmp_path / "none.onnx", tmp_path / "report.html"
    with pytest.raises(RuntimeError):
        command.command.main([str(source), str(tmp_path / "out.onnx"), "--report", str(report)], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []
