"""Imports go one way: each layer of the house imports the layers below it, and never those above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from split_rewrite.rewriter.engine.task import Task
from split_rewrite.rewriter.graph.node import Node

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
LAYERS = (
    {"cached", "progress", "sizes", "suggestions", "codes", "document", "python_words"},
    {"errors"},
    {"boundary"},
    {"calls"},
    {"onnx_model", "process"},
    {"storage", "opsets"},
    {"execution", "structure"},
    {"graph", "comparison", "certifying"},
    {"engine"},
    {"rules"},
    {"checks"},
    {"report"},
    {"runtimes", "bridge"},
    {"conversion"},
    {"batch", "inspection", "explaining", "reproducing", "testing"},
    {"cli"},
    {"__main__"},
    {"split_rewrite"},
)
"""From the bottom to the top. What stands in one line does not import each other, but for the modules of one package."""
RANKS = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
OPEN_TO_RULES = ("graph.node", "engine.registry", "errors", "opsets.facts")
"""The modules of the rewriter that rules import: Node, the decorators, the errors, and the row of facts of an operator."""
MODULES = [path for folder in ("rewriter", "rules") for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    """The modules of this project that `path` imports anywhere, functions and TYPE_CHECKING blocks included, as full names."""
    package = ("split_rewrite", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("split_rewrite"))
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            if module.startswith("split_rewrite"):
                yield from (_module_of(module, alias.name) for alias in node.names)


def _module_of(module: str, name: str) -> str:
    """`module.name` where that is a module itself, else `module`."""
    inner = ROOT.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if inner.with_suffix(".py").is_file() or inner.is_dir() else module


def layer(module: str) -> str:
    """The name in `LAYERS` that `module`, a full name, belongs to; the package `rewriter` itself is of no layer."""
    _, top, *rest = module.split(".")
    return "rules" if top == "rules" else rest[0] if rest else ""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = layer(".".join(("split_rewrite", *path.relative_to(ROOT).with_suffix("").parts)))
    if own == "__init__":
        return  # it offers what users import, and is imported by nobody
    for module in imports(path):
        other = layer(module)
        assert other == own or RANKS[other] < RANKS[own], f"{path.relative_to(ROOT)} imports {module}"


JUDGE = [
    path
    for path in MODULES
    if path.relative_to(ROOT).parts[:2] in {("rewriter", "comparison"), ("rewriter", "execution"), ("rewriter", "certifying")}
]


@pytest.mark.parametrize("path", JUDGE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_comparison_shares_nothing_with_what_it_judges(path: Path) -> None:
    """What misled a rule may not mislead the judge."""
    for module in imports(path):
        assert layer(module) not in {"graph", "engine", "checks", "rules"}, f"{path.relative_to(ROOT)} imports {module}"


RULES = [path for path in MODULES if path.relative_to(ROOT).parts[0] == "rules"]


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_rules_know_the_node_the_decorators_the_errors_the_facts_and_their_helpers(path: Path) -> None:
    for module in imports(path):
        is_open = module.startswith("split_rewrite.rules.shared") or module.removeprefix("split_rewrite.rewriter.") in OPEN_TO_RULES
        assert is_open, f"{path.relative_to(ROOT)} imports {module}"


HIDDEN = {name for each in Task.__mro__[:-1] for name in vars(each) if not name.startswith("__")}
HIDDEN -= {name for name in dir(Node) if not name.startswith("_")}
"""Names of what the engine keeps about a node, and of what a Node keeps for itself."""


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_rules_do_not_reach_behind_the_node(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            assert node.attr not in HIDDEN, f"{path.relative_to(ROOT)}:{node.lineno} {node.attr}"
