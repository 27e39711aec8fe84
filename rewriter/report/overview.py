"""The HTML overview of a run: how many models have which outcome, what the obstacles are, and each model with its own page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from urllib.parse import quote

import onnx

from .page_parts import frame, html_text, status
from .totals import Entry, Obstacle, Totals

MOST_NAMED = 30
"""The number of models that are named for one obstacle; the others are only counted."""
_LONGEST = 600
"""The number of characters after which a text is cut."""


def overview(totals: Totals, pages: Mapping[int, str], seconds: float) -> str:
    """The overview as one HTML page that loads nothing else.

    `pages` has the path from here to each model's page, by the model's number.
    """
    code = totals.exit_status
    count = len(totals.entries)
    good = sum(entry.exit_status == 0 for entry in totals.entries)
    title = f"{good:,} of {count:,} model{'s' * (count != 1)} without errors"
    tiles = "".join(f"<div><dt>{escape(name)}</dt><dd>{number:,}</dd></div>" for name, number in totals.outcomes.items())
    head = (
        f"{status(code == 0, f'exit status {code}')}"
        f'<h1>{title}</h1><p class="lead">{seconds:.1f} s</p><dl class="tiles">{tiles}</dl>'
    )
    body = f"{_obstacles(totals.obstacles(), pages)}{_models(totals, pages)}"
    versions = f"<dl><dt>Versions</dt><dd>split-rewrite {version('split-rewrite')}, onnx {onnx.__version__}</dd></dl>"
    return frame(title, head, body, versions, code == 0)


def _obstacles(obstacles: Sequence[Obstacle], pages: Mapping[int, str]) -> str:
    note = "“Alone” counts the models that this blocker alone stops: fixing it would convert them."
    rows = [
        (html_text(each.text, _LONGEST), f"{len(each.models):,}", f"{each.freed:,}", _links(each.models, pages))
        for each in obstacles
    ]
    return _section("obstacles", "Blockers", ("Blocker", "Models#", "Alone#", "Which models"), rows, note)


def _links(entries: Sequence[Entry], pages: Mapping[int, str]) -> str:
    named = ", ".join(_link(entry, pages) for entry in entries[:MOST_NAMED])
    rest = len(entries) - MOST_NAMED
    return f"{named} and {rest:,} more" if rest > 0 else named


def _models(totals: Totals, pages: Mapping[int, str]) -> str:
    """The table of all models, starting with those that were not converted."""
    entries = sorted(totals.in_order, key=lambda entry: -entry.exit_status)
    rows = [
        (_link(entry, pages), escape(entry.outcome), f"{entry.seconds:.2f}", html_text(_why(entry), _LONGEST)) for entry in entries
    ]
    return _section("models", "Models", ("Model", "Outcome", "Seconds#", "Why"), rows)


def _why(entry: Entry) -> str:
    return entry.first_blocker or entry.message or "; ".join(entry.warnings)


def _link(entry: Entry, pages: Mapping[int, str]) -> str:
    name = f"<code><bdi>{html_text(entry.source, _LONGEST)}</bdi></code>"
    page = pages.get(entry.number)
    return name if page is None else f'<a href="{escape(quote(os.fsencode(page)))}">{name}</a>'


def _section(label: str, title: str, headers: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A section with a table, or "" where there are no rows.

    A header that ends with # is for a column of numbers; cells are HTML.
    """
    kinds = [' class="number"' if header.endswith("#") else "" for header in headers]
    head = "".join(f'<th scope="col"{kind}>{header.rstrip("#")}</th>' for header, kind in zip(headers, kinds, strict=True))
    body = "".join(f"<tr>{''.join(f'<td{k}>{cell}</td>' for cell, k in zip(row, kinds, strict=True))}</tr>" for row in rows)
    if not body:
        return ""
    return (
        f'<section id="{label}"><h2>{title}</h2>{f"<p class=note>{note}</p>" if note else ""}'
        f'<div class="table" tabindex="0" role="group" aria-label="{title}"><table aria-label="{title}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )
