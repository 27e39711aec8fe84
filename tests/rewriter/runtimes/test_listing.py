"""Runtimes as text, for --list-runtimes."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter import ArgumentError
from split_rewrite.rewriter.runtimes.listing import about, forms, overview
from split_rewrite.rewriter.runtimes.profiles import known_runtimes

pytestmark = pytest.mark.quick


def test_each_range_of_releases_has_a_line() -> None:
    lines = overview().splitlines()
    assert lines[0].split() == ["runtime", "releases", "opsets", "IR", "version", "evidence"]
    named = {line.split()[0] for line in lines[1:]}
    assert set(known_runtimes()) <= named


@pytest.mark.parametrize("name", sorted(known_runtimes()))
def test_a_runtime_names_its_quirks_with_what_is_written_instead(name: str) -> None:
    text = about(name)
    runtime = known_runtimes()[name]
    assert text.splitlines()[0] == runtime.title
    for quirk in runtime.quirks:
        assert f"\n{quirk.form}\n" in text
        assert forms()[quirk.form] in text


def test_forms_are_listed_by_name() -> None:
    assert len(about("quirks").splitlines()) == len(forms())


def test_a_release_has_what_is_known_about_it_alone() -> None:
    text = about("OpenVINO 2024.6")
    assert text.splitlines()[0] == "OpenVINO 2024.6"
    assert "\n2024.6: " in text and "\n2023.3: " not in text
    assert "\nShape with start or end\n" in about("ov-2023.3") and "\nShape with start or end\n" not in text


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ArgumentError, match=r"^--list-runtimes openvin: unknown runtime; did you mean 'openvino'\?"):
        about("openvin")
