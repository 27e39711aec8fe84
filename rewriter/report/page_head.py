"""The beginning of all pages that the program writes, by which it also recognizes them."""

from __future__ import annotations

from .page_style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_BEGINNING = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="split-rewrite">'


def head(title: str) -> str:
    """A page from its beginning to the end of its head. `title` is HTML text."""
    return (
        f'{_BEGINNING}<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{STYLE}</style></head>"
    )


def is_page(path: str) -> bool:
    """Whether the file at `path` is a page that the program wrote."""
    beginning = _BEGINNING.encode()
    try:
        with open(path, "rb") as file:
            return file.read(len(beginning)) == beginning
    except OSError:
        return False
