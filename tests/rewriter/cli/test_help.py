"""The help: each option has a section and an example, and the short one fits a screen."""

from __future__ import annotations

import click
import pytest
from helpers import command_line

from split_rewrite.rewriter.cli.command import command
from split_rewrite.rewriter.cli.help import OTHERS, SECTIONS, sections

pytestmark = pytest.mark.quick


def test_each_option_has_one_section() -> None:
    with click.Context(command, info_name="split-rewrite") as context:
        found = sections(command, context)
    assert OTHERS not in found, f"cli/help.py has no entry for {[option.opts for option in found.get(OTHERS, [])]}"
    shown = [option.name for options in found.values() for option in options]
    assert len(shown) == len(set(shown))


def test_no_entry_is_of_an_option_that_is_gone() -> None:
    names = {name for option in command.params for name in option.opts} | {"--help"}
    assert {entry.option for rows in SECTIONS.values() for entry in rows} <= names


def test_the_short_help_fits_a_screen() -> None:
    ended = command_line("-h")
    lines = ended.out.splitlines()
    assert (ended.status, ended.err) == (0, "") and len(lines) <= 24 and max(map(len, lines)) <= 90
    assert lines[0] == "Usage: split-rewrite [OPTIONS] INPUT... OUTPUT"
    assert "  -t, --target-opset N|latest     opset of the result; default: unchanged" in lines


def test_the_long_help_has_the_sections_in_the_order_of_need() -> None:
    out = command_line("--help").out
    places = [out.index(f"\n{title}:\n") for title in SECTIONS]
    assert places == sorted(places)
    assert "\nExamples:\n" in out.replace("  Examples:", "Examples:") and "Exit status:" in out
