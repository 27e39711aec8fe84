"""The parts that pages consist of: the frame, tables, and text and names as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .drawing import visible
from .page_head import head

MAX_ROWS = 100
"""The number of rows of a table."""
MAX_NAMES = 12
"""The number of names in one cell."""

Cells = Sequence[str]
"""The cells of a row, as HTML."""


def frame(title: str, top: str, body: str, foot: str, is_good: bool) -> str:
    """A complete page that loads nothing else and has no script. All parts are HTML."""
    return (
        f"{head(title)}<body>"
        f'<header class="{"good" if is_good else "bad"}"><div>{top}</div></header>'
        f"<main>{body}</main><footer>{foot}</footer></body></html>"
    )


def status(is_good: bool, text: str) -> str:
    """The mark at the top of a page that says how it ended; `text` is HTML."""
    return f'<span class="status"><span aria-hidden="true">{"✓" if is_good else "✗"}</span>{text}</span>'


def table(caption: str, headers: Sequence[str], rows: Sequence[Cells]) -> str:
    """A table as HTML; "" where it has no rows. A header that ends with # is for a column of numbers; cells are HTML."""
    if not rows:
        return ""
    kinds = ["number" if header.endswith("#") else "text" if header in _LONG else "" for header in headers]
    titles = zip(headers, kinds, strict=True)
    head = "".join(f'<th scope="col"{_class(kind)}>{escape(header.rstrip("#"))}</th>' for header, kind in titles)
    body = "".join(f"<tr>{''.join(_cells(row, kinds))}</tr>" for row in rows[:MAX_ROWS])
    rest = len(rows) - MAX_ROWS
    more = f'<p class="note">And {rest:,} more rows; the JSON report has them all.</p>' if rest > 0 else ""
    label = escape(caption)
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{label}"><table aria-label="{label}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


_LONG = frozenset({"Reason", "Where", "What it does", "Warning", "Why"})
"""The headers of columns that contain long text."""


def _cells(row: Cells, kinds: Sequence[str]) -> Iterator[str]:
    yield f'<th scope="row"{_class(kinds[0])}>{row[0]}</th>'
    for cell, kind in zip(row[1:], kinds[1:], strict=True):
        yield f"<td{_class(kind)}>{cell}</td>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def folded(summary: str, body: str) -> str:
    return f'<details class="plain"><summary>{escape(summary)}</summary>{body}</details>'


def html_places(places: Sequence[tuple[str, str]]) -> str:
    """Nodes and their graphs as HTML; only graphs other than the main graph are named."""
    shown = [html_name(node) + ("" if where == "main graph" else f" ({html_text(where)})") for node, where in places[:MAX_NAMES]]
    rest = len(places) - len(shown)
    return ", ".join(shown) + (f", and {rest:,} more" if rest else "")


def html_text(text: str, longest: int = 200) -> str:
    return escape(visible(text, longest))


def signed(number: int) -> str:
    return f"{number:+,}".replace("-", "−")


def breakable(name: str) -> str:
    return html_text(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


def html_lines(text: str) -> str:
    return "\n".join(html_text(line, 2100) for line in text.split("\n"))


def html_name(name: str) -> str:
    """A name from the model, or a path, as HTML, with its own writing direction."""
    return f"<code><bdi>{html_text(name)}</bdi></code>"


def step(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return "none"
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"
