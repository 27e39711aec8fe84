"""The style sheet of the page."""

from __future__ import annotations

import re

from split_rewrite.rewriter.report import page_style


def properties(css: str) -> set[str]:
    return set(re.findall(r"(--[\w-]+):", css))


def test_each_colour_has_a_dark_form() -> None:
    assert properties(page_style.LIGHT) - properties(page_style.DARK) == {"--sans", "--mono"}
    assert properties(page_style.DARK) <= properties(page_style.LIGHT)


def test_only_properties_that_exist_are_used() -> None:
    sheets = "".join(value for value in vars(page_style).values() if isinstance(value, str))
    assert set(re.findall(r"var\((--[\w-]+)\)", sheets)) <= properties(page_style.LIGHT)
