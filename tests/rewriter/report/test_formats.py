"""Which format a report has, by the name of its file, and what each format can describe."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.report.formats import FORMATS, JSON, LINES, PAGE, files_in, format_of

pytestmark = pytest.mark.quick


def test_no_ending_stands_for_two_formats() -> None:
    endings = [format.suffix for format in FORMATS]
    assert [format_of(f"run{ending}") for ending in endings] == list(FORMATS)


@pytest.mark.parametrize("path", ["run.txt", "run", ".jsonl.gz", "run.json/"])
def test_other_names_have_no_format(path: str) -> None:
    assert format_of(path) is None


def test_standard_output_is_json_and_no_file() -> None:
    assert format_of("-") is JSON
    assert files_in(["-", "a.json"], lambda _: True) == [("a.json", JSON)]


def test_each_format_describes_a_model_or_a_run() -> None:
    assert all(format.of_model is not None or format.is_for_many for format in FORMATS)
    assert [format.suffix for format in FORMATS if not format.is_for_many] == [".json"]
    assert [format.suffix for format in FORMATS if format.is_for_many_alone] == [".jsonl", ".xml", ".sarif"]


def test_files_are_chosen_by_what_their_format_does() -> None:
    paths = ["a.jsonl", "b.html", "c.xml", "d.jsonl"]
    assert files_in(paths, lambda format: format.is_record) == [("a.jsonl", LINES), ("d.jsonl", LINES)]
    assert files_in(paths, lambda format: format.has_pages) == [("b.html", PAGE)]
