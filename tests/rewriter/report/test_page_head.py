"""The beginning of pages, by which the program recognizes its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from split_rewrite.rewriter.report.page_head import head, is_page

pytestmark = pytest.mark.quick


def test_its_own_pages_are_recognized(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert not is_page(str(page))
    page.write_text("<!DOCTYPE html>\n<html><head><title>mine</title></head></html>", encoding="utf-8")
    assert not is_page(str(page))
    page.write_bytes((head("a &amp; b") + "<body></body></html>").encode())
    assert is_page(str(page))
    assert "<title>a &amp; b</title>" in page.read_text(encoding="utf-8")
