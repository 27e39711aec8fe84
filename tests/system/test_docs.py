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
from itertools import product
from pathlib import Path

import pytest
from documentation import ROOT, as_regex, documented

from split_rewrite.rewriter import cli, errors

ERRORS = {
    "ArgumentError",
    "InvalidModelError",
    "PathConflictError",
    "SplitRewriteError",
    "CheckError",
    "CompareError",
    "Unconvertible",
    "UsageError",
    "fail",  # of the types of click's options
    "MalformedError",
}
RAISED_IN = {"stamp.py": {"ValueError"}}
"""Exceptions that only count in these modules: they come out as errors of the program."""
YIELDED = {"validity.py", "scales.py"}
"""Modules that yield what is wrong with a node."""
MOST = 64


def messages(path: Path) -> Iterator[str]:
    """The messages of one module."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.Module):
            yield from _messages_in(function, ERRORS | RAISED_IN.get(path.name, set()), path.name in YIELDED)


def _messages_in(function: ast.FunctionDef | ast.Module, errors: set[str], yields: bool) -> Iterator[str]:
    nodes = list(_own_nodes(function))
    names: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).append(node.value)
    for node in nodes:
        if isinstance(node, ast.Call) and _name(node.func) in errors and node.args:
            yield from _texts(node.args[0], names)
        if yields and isinstance(node, ast.Yield) and node.value is not None:
            yield from _texts(node.value, names)


def _own_nodes(function: ast.FunctionDef | ast.Module) -> Iterator[ast.AST]:
    """What is in the function, without the functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            pending.extend(ast.iter_child_nodes(node))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _texts(expression: ast.expr, names: dict[str, list[ast.expr]]) -> list[str]:
    """The texts that an expression may have, … for what is only known when it runs; none where that is everything."""
    return [text for text in _parts(expression, names) if re.search(r"\w", text)]


def _parts(expression: ast.expr, names: dict[str, list[ast.expr]]) -> list[str]:
    match expression:
        case ast.Constant(value=str() as text):
            return [text]
        case ast.JoinedStr(values=values):
            return _joined([_parts(value, names) for value in values])
        case ast.FormattedValue(value=value):
            return _parts(value, names)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _joined([_parts(left, names), _parts(right, names)])
        case ast.IfExp(body=body, orelse=orelse):
            return _parts(body, names) + _parts(orelse, names)
        case ast.BoolOp(values=values):
            return [part for value in values for part in _parts(value, names)]
        case ast.Name(id=name) if name in names:
            return [part for value in names[name] for part in _parts(value, {})]
        case _:
            return ["…"]


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(some) for some in product(*parts)][:MOST]


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
    said = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in (cli, errors))
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
    named = set(re.findall(r"`((?:rewriter|rules)/(?:\w+/)?)`", table)) | {
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
    program = (
        f"import split_rewrite; split_rewrite.__path__ = [{str(package)!r}]; from split_rewrite.rewriter import cli; cli.main()"
    )
    listed = subprocess.run(
        [sys.executable, "-c", program, "--list-rules"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "brand_new.goes" in listed.stdout
