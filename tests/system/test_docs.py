"""The documentation keeps step with the sources: every message is explained in docs/errors.md, and links lead somewhere.

A message is what the code raises, with … where it puts something in. A pattern of docs/errors.md is a code span in the first
column of its tables, with … for anything; it has to match a message from end to end.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from documentation import ROOT, as_regex, documented
from messages import assigned, own_nodes, raised, texts

from split_rewrite.rewriter import errors
from split_rewrite.rewriter.cli import command

ERRORS = {
    "ArgumentError",
    "InvalidModelError",
    "PathConflictError",
    "SplitRewriteError",
    "CheckError",
    "RuleError",
    "CompareError",
    "Unconvertible",
    "Undecided",
    "UsageError",
    "fail",  # of the types of click's options
    "MalformedError",
    "OutOfTimeError",
    "SystemLimitError",
}
RAISED_IN = {"stamp.py": {"ValueError"}}
"""Exceptions that only count in these modules: they come out as errors of the program."""
YIELDED = {"checks", "operators"}
"""The folders of modules that yield what is wrong with a node."""


def messages(path: Path) -> Iterator[str]:
    """The messages of one module."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.Module):
            yield from _messages_in(function, ERRORS | RAISED_IN.get(path.name, set()), path.parent.name in YIELDED)


def _messages_in(function: ast.FunctionDef | ast.Module, errors: set[str], yields: bool) -> Iterator[str]:
    for reasons, _ in raised(function, errors):
        yield from reasons
    nodes = list(own_nodes(function)) if yields else []
    names = assigned(nodes)
    for node in nodes:
        if isinstance(node, ast.Yield) and node.value is not None:
            yield from texts(node.value, names)


MODULES = sorted([*ROOT.glob("rewriter/**/*.py"), *ROOT.glob("rules/**/*.py")])
ELSEWHERE = {"out of memory", "the model is nested too deeply", "internal error: …"}
"""What the command line says of exceptions that are not of this project."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_message_is_explained(path: Path) -> None:
    patterns = [as_regex(pattern) for pattern in documented()]
    missing = [text for text in dict.fromkeys(messages(path)) if not any(pattern.fullmatch(text) for pattern in patterns)]
    assert missing == [], "explain these in docs/errors.md"


def test_every_explanation_is_of_a_message() -> None:
    known = [text for path in MODULES for text in messages(path)]
    stale = [pattern for pattern in documented() if not any(as_regex(pattern).fullmatch(text) for text in known)]
    assert set(stale) == ELSEWHERE, "docs/errors.md explains what nothing says"
    said = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in (command, errors))
    assert all(text.partition(" …")[0] in said for text in ELSEWHERE)


SEEN = {
    "plain": ('raise InvalidModelError("no")', ["no"]),
    "formatted": ('raise Unconvertible(f"no {name} \'{other}\'", "hint")', ["no … '…'"]),
    "choice": ('raise Unconvertible("one" if x else f"two {y}")', ["one", "two …"]),
    "joined": ('raise CheckError("one " + ("a" if x else "b"))', ["one a", "one b"]),
    "named": ('why = "late"\n    raise Unconvertible(f"it is {why}")', ["it is late"]),
    "passed-on": ("raise InvalidModelError(str(error))", []),
    "other": ('raise RuntimeError("bug")', []),
}


@pytest.mark.parametrize(("body", "expected"), SEEN.values(), ids=SEEN)
def test_messages_are_found(tmp_path: Path, body: str, expected: list[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"def rule(node):\n    {body}\n", encoding="utf-8")
    assert list(messages(path)) == expected


def test_the_map_names_every_folder() -> None:
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    table = text[text.index("## Where things are") :]
    named = set(re.findall(r"`((?:rewriter|rules)/(?:\w+/)*)`", table)) | {
        f"rules/{name}" for name in re.findall(r"`(\w+/)`: ", table)
    }
    there = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in MODULES} - {"rewriter/"}
    assert named == there


PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "models" / "README.md"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page if not name else (page.parent / name).resolve()
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


OWN_RULE = """
from split_rewrite.rewriter.engine.registry import simplify


@simplify("Relu", opset=13)
def goes(node):
    \"""Relu goes.\"""
    node.forward(0, node.input(0))
    node.remove()
"""


@pytest.mark.parametrize("place", ["rules", "rules/many", "rules/new_folder"])
def test_nothing_else_has_to_be_registered(tmp_path: Path, place: str) -> None:
    """A rule is one new module, wherever in `rules/`: no list names it."""
    assert "nothing else to register" in (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    package = tmp_path / "split_rewrite"
    for folder in ("rewriter", "rules"):
        shutil.copytree(ROOT / folder, package / folder, ignore=shutil.ignore_patterns("__pycache__"))
    module = package / place / "brand_new.py"
    module.parent.mkdir(exist_ok=True)
    if place == "rules/new_folder":
        module.with_name("__init__.py").touch()
    module.write_text(OWN_RULE, encoding="utf-8")
    program = f"import split_rewrite; split_rewrite.__path__ = [{str(package)!r}]; from split_rewrite.rewriter import __main__; __main__.main()"
    listed = subprocess.run(
        [sys.executable, "-c", program, "--list-rules"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "brand_new.goes" in listed.stdout


def test_each_line_of_a_list_in_the_changelog_begins_with_one_dash() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    begins = {line.partition(" ")[0] for line in lines if line and not line.startswith((" ", "#"))}
    assert {begin for begin in begins if not begin.isalnum()} == {"-"}
