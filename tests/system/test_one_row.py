"""What the program knows of an operator stands in its row of facts, and nowhere else.

One test looks for tables of operator names in the syntax trees of all modules. Another makes up an operator, gives it a row and
nothing else, and sees that sampling, folding, comparison, tidying and the profiles of runtimes go by the row.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import structure

from split_rewrite.rewriter.engine.registry import RULES, registry


def own_operators() -> dict[str, frozenset[str]]:
    """The operators for which each rule file has rules, by the name of the module; rules/shared has no rules."""
    found: dict[str, set[str]] = defaultdict(set)
    modules = [module for name, module in sys.modules.items() if name.startswith("split_rewrite.rules.")]
    replacing = (rule for module in modules for value in vars(module).values() for rule in getattr(value, RULES, ()))
    for rule in (*registry, *replacing):
        module = rule.apply.__module__.removeprefix("split_rewrite.")
        found[module].add(rule.op_type.rpartition("::")[2])
    return {module: frozenset(names) for module, names in found.items()}


@pytest.mark.quick
def test_no_module_has_a_table_of_operators() -> None:
    own = own_operators()
    found: dict[str, list[str]] = defaultdict(list)
    for name, tree, _ in structure.sources():
        for place in structure.tables(name, tree, own.get(name, frozenset())):
            found[name].append(place)
    assert found == {}


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        'T = {"Split", "Concat"}',
        'T = {"Split": 1, "Concat": 2}',
        'T = (("Split", 1), ("Concat", 2))',
        'f(["Split", "Concat"])',
        'op_type == "Split" or op_type == "Concat"',
        'if op_type == "Split":\n    f()\nelif op_type == "Concat":\n    g()',
        'match op_type:\n    case "Split" | "Concat":\n        f()',
        'match op_type:\n    case "Split":\n        f()\n    case "Concat":\n        g()',
        're.compile("Split|Concat")',
        '"Split Concat".split()',
        'op_type.startswith("Reduce")',
        'op_type.endswith("ND")',
        'f"Reduce{name}"',
    ],
)
def test_a_table_is_found(text: str) -> None:
    assert list(structure.tables("module", ast.parse(text))) != []


@pytest.mark.quick
@pytest.mark.parametrize(
    "text",
    [
        'T = {"Split", "of a list"}',
        'op_type == "Split" or name == "x"',
        'kind: Literal["Max", "Min"]',
        'f"Split {name} and Concat"',
        'f"M{x} {y}"',
        'log("Split and Concat")',
    ],
)
def test_no_table_is_found(text: str) -> None:
    assert list(structure.tables("module", ast.parse(text))) == []


@pytest.mark.quick
def test_a_rule_file_may_name_its_own_operators() -> None:
    tree = ast.parse('T = {"Split", "Concat", "Cast"}')
    assert list(structure.tables("rules.split", tree, frozenset({"Split", "Concat"}))) == []
    assert list(structure.tables("rules.split", tree, frozenset({"Split"}))) != []


MADE_UP = Path(__file__).with_name("made_up_operator.py")
ROW = "Twist moves moves data positions ; folds=identity idle=always reference-wrong=removed_accents"


def treated(row: str, folder: Path) -> dict[str, str]:
    """What another process says of an operator Twist that has `row`, or none."""
    command = [sys.executable, "-W", "ignore", str(MADE_UP), row, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_operator_needs_one_row_and_nothing_else(tmp_path: Path) -> None:
    assert treated(ROW, tmp_path) == {
        "sampling": "positions ['2'], and ['3'] behind it",
        "folding": "[[2, 4]]",
        "comparison": "removes accents in Twist (Twist 'y')",
        "tidying": "['Abs']",
        "profiles": "another type does",
    }


def test_an_operator_without_a_row_is_unknown_everywhere(tmp_path: Path) -> None:
    found = treated("", tmp_path)
    unknown = "has a version of Twist that this split-rewrite does not know"
    assert unknown in found.pop("profiles")
    assert unknown in found.pop("folding")
    assert found == {"sampling": "positions [], and [] behind it", "comparison": "", "tidying": "['Twist', 'Abs']"}
