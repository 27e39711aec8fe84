"""The report as a page: well-formed, closed in itself, safe against what names hold, bounded, and with the sections that apply."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pages
import pytest

from split_rewrite.rewriter.cli import command
from split_rewrite.rewriter.report.drawing import MAX_NODES
from split_rewrite.rewriter.report.finished import Finished, ModelFile
from split_rewrite.rewriter.report.page import make_page
from split_rewrite.rewriter.report.page_changes import MAX_DRAWINGS, MAX_LINES, MAX_SHOWN

VOID = {"meta", "link", "wbr", "br"}
SELF_CLOSED = {"rect", "path"}


class Page(HTMLParser):
    """What is on a page; fails on tags that are not closed in order, and on attributes that are there twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SELF_CLOSED, tag
        self._note(tag, attrs)

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), (tag, names)
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]

    @property
    def sections(self) -> list[str]:
        return [value for tag, name, value in self.attributes if (tag, name) == ("section", "id")]

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return pages.kinds(tmp_path_factory.mktemp("pages"))


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


def test_a_large_rewrite_is_drawn_with_its_constants_inside(tmp_path: Path) -> None:
    """int64 Max by comparisons of halves at opset 7 is over a hundred nodes."""
    page = Page(
        pages.page("g (int64[4] a, int64[4] b) => (int64[4] c) {c = Max(a, b)}", tmp_path, "-t", "7", "--compare", "off")[1]
    )
    assert page.tags.count("svg") == 2
    assert "scroll large" in page.values("class") and "constant" not in page.values("class")
    assert re.search(r"Cast input 1 = \S+ to = 7", page.words)


def test_counts_of_nodes_and_operators(kinds: dict[str, str]) -> None:
    assert re.search(r"Nodes 1 → \d+ 1 → \d+ operators", Page(kinds["inexact"]).words)
    assert "Nodes 1 1 operator " in Page(kinds["converted"]).words


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


def test_a_failed_report_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("split_rewrite.rewriter.report.page.html_text", fail)
    source, report = tmp_path / "none.onnx", tmp_path / "report.html"
    with pytest.raises(RuntimeError):
        command.command.main([str(source), str(tmp_path / "out.onnx"), "--report", str(report)], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []
