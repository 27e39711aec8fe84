"""Links of HTML pages that lead nowhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The targets of links and images of one page, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.targets += filter(None, (values.get("href"), values.get("src")))
        self.anchors |= {value for key in ("id", "name") if (value := values.get(key))}


def broken(folder: Path) -> list[str]:
    """The links between the pages of `folder`, and to files in it, that lead nowhere: "page.html: target" for each."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    return [
        f"{path.relative_to(folder.resolve())}: {target} leads nowhere"
        for path, page in pages.items()
        for target in dict.fromkeys(page.targets)
        if not _leads_somewhere(path, target, pages)
    ]


def _leads_somewhere(path: Path, target: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if there not in pages:
        return there.is_file()
    return parts.fragment in ("", "top") or unquote(parts.fragment) in pages[there].anchors
