"""The examples of the README and the guide are run: each command with the output that the page shows, and each piece of Python.

In an output, … stands for anything: in a line for the rest or a part of it, on a line of its own for any number of lines. Blocks of
`sh` hold names of files that only the reader has, and are not run; Python that imports nothing continues what another page shows.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from documentation import ROOT

from split_rewrite.rewriter.cli.command import run

PAGES = ("README.md", "docs/guide.md", "docs/gallery.md", "docs/many.md")


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[tuple[str, str]]:
    """The commands with models of the tree in the `console` blocks of a page, each with the output that the page shows."""
    found = (block.removeprefix("$ ").partition("\n") for block in blocks(page, "console"))
    return [(line, output) for line, _, output in found if "models/" in line]


def shown_as(output: str) -> str:
    """A regular expression for what `output` shows."""
    lines = [r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n" for line in output.splitlines()]
    return "".join(lines)


COMMANDS = [(page, *example) for page in PAGES for example in commands(page)]
PYTHON = [(page, block) for page in PAGES for block in blocks(page, "python") if "models/" in block]
SERVICE, COMPILER, RULES, OPERATORS = blocks("docs/embedding.md", "python")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "models", tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "command", "output"), COMMANDS, ids=[f"{row[0]}:{row[1][:60]}" for row in COMMANDS])
def test_commands(folder: Path, capfd: pytest.CaptureFixture[str], page: str, command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "split-rewrite"
    status = run(arguments)
    out, err = capfd.readouterr()
    refused = "error: " in output or "refused" in command
    assert status == (1 if refused else 0), err
    if output:
        said = err if refused else out
        assert re.fullmatch(shown_as(output), said), said


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[f"{row[0]}-{number}" for number, row in enumerate(PYTHON)])
def test_python(folder: Path, page: str, code: str) -> None:
    exec(compile(code, page, "exec"), {})
    assert list(folder.glob("*.onnx")) or "dry" in code


@pytest.mark.parametrize("code", [SERVICE, COMPILER, f"{RULES}\n{OPERATORS}"], ids=["service", "compiler", "rules and operators"])
def test_python_inside_other_programs(folder: Path, code: str) -> None:
    exec(compile(code, "docs/embedding.md", "exec"), {"__name__": "embedding"})


def test_there_are_examples() -> None:
    assert {page for page, *_ in COMMANDS} >= {"README.md", "docs/guide.md", "docs/gallery.md"}
    assert {page for page, _ in PYTHON} == {"README.md", "docs/guide.md"}


SHOWN = {
    "whole": ("a\nb\n", "a\nb\n", True),
    "part of a line": ("a … c\n", "a b c\n", True),
    "lines": ("a\n…\nc\n", "a\nb\nb\nc\n", True),
    "no line": ("a\n…\n", "a\n", True),
    "another line": ("a\n…\nc\n", "a\nb\n", False),
    "a line too many": ("a\n", "a\nb\n", False),
}


@pytest.mark.parametrize(("output", "said", "fits"), SHOWN.values(), ids=SHOWN)
def test_outputs_are_compared(output: str, said: str, fits: bool) -> None:
    assert bool(re.fullmatch(shown_as(output), said)) is fits
