"""A page as a browser would read it."""

from __future__ import annotations

from html.parser import HTMLParser

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
