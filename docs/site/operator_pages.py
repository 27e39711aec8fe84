"""A page for each operator, made of what the program goes by: schemas, reviewed.txt, rules, and the rewrites that tests show."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from helpers import model
from messages import refusals
from onnx import defs

import split_rewrite.rules  # noqa: F401 - importing the rules registers them
from split_rewrite.rewriter.conversion.driver import rewrites_of
from split_rewrite.rewriter.engine.registry import Rule, registry
from split_rewrite.rewriter.opsets.transitions import OpSchema, Transition, newest_opset, schema_at
from split_rewrite.rewriter.report.distinct_rewrites import distinct_rewrites
from split_rewrite.rewriter.report.page_changes import panels

ROOT = Path(__file__).resolve().parents[2]
MOST_NAMES = 5
"""Types or attributes that are named in one cell."""
GOING_UP = {
    "R": "stays as it is",
    "A": "as the schemas say",
    "H": "by a rule",
    "H*": "stays as it is; a rule in rare cases",
    "C": "stays as it is; a warning where its text changed",
}
GOING_DOWN = {
    "R": "stays as it is",
    "T": "stays as it is, if the older version has its types",
    "G": "stays as it is, if it does not use what is new",
    "A": "as the schemas say",
    "N": "the rank is added to negative axes",
    "V": "stays as it is, if its values and shapes allow that",
    "H": "by a rule",
    "H*": "stays as it is; a rule in some cases",
    "-": "stays as it is",
}
"""What the letters of reviewed.txt mean for a reader."""


class Example(NamedTuple):
    """A rewrite that a test of a rule shows: the model as text, the opset that it has, and the one to convert to."""

    rule: str
    opset: int
    target: int
    before: str


def operators() -> list[str]:
    """All operators of the default domain that the installed onnx knows up to its newest opset."""
    schemas = defs.get_all_schemas_with_history()
    return sorted({schema.name for schema in schemas if not schema.domain and schema.since_version <= newest_opset()})


def index() -> str:
    """The page that lists the operators."""
    rows = [f"| [{name}]({name}.md) | {', '.join(map(str, _versions(name)))} | {_without(name)} |" for name in operators()]
    return "\n".join(
        [
            "# Operators",
            "",
            "What happens to the nodes of each operator of ONNX's own domain, by its versions. These pages are made of the program",
            "itself: of ONNX's schemas, of the review of every step between two versions, and of the rules; the drawings show the",
            "rewrites that the tests check.",
            "",
            "| operator | versions | where the target does not have it |",
            "|---|---|---|",
            *rows,
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *operators(),
            "```",
            "",
        ]
    )


def page(op_type: str) -> str:
    """The page of one operator, as MyST Markdown."""
    sections = [_steps(op_type), _expansion(op_type), _simplifications(op_type), _refusals(op_type), _avoidances(op_type)]
    head = f"# {op_type}\n\nVersions: {_listed(_versions(op_type))}. What it computes: [ONNX's own page]({_onnx_page(op_type)}).\n"
    return "\n".join([head, *filter(None, [*sections, _drawings(op_type)])])


def _onnx_page(op_type: str) -> str:
    return f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"


def _versions(op_type: str) -> list[int]:
    schemas = defs.get_all_schemas_with_history()
    found = {schema.since_version for schema in schemas if schema.name == op_type and not schema.domain}
    return sorted(version for version in found if version <= newest_opset())


def _without(op_type: str) -> str:
    rule = registry.decomposition(op_type)
    if _versions(op_type)[0] == 1:
        return "all have it"
    return "becomes other operators" if rule else "refused, unless a simplification removes it"


# -- the sections


def _steps(op_type: str) -> str:
    versions = _versions(op_type)
    rows = []
    for newer in versions[1:]:
        up, down = (_step(op_type, newer, up) for up in (True, False))
        rows.append(f"| {newer - 1} ↔ {newer} | {_difference(op_type, newer)} | {up} | {down} |")
    if not rows:
        return ""
    return "\n".join(["## Steps", "", "| opsets | what changed | going up | going down |", "|---|---|---|---|", *rows, ""])


def _step(op_type: str, newer: int, up: bool) -> str:
    """What happens to a node on one step, in words."""
    rule = registry.transition(op_type, newer, up)
    schema = schema_at(op_type, newer)
    if up and schema is not None and schema.deprecated and rule is None:
        return "stays in its older form, or is refused where that is not allowed"
    code = Transition(op_type, newer, newer - 1, up).review
    words = (GOING_UP if up else GOING_DOWN).get(code or "", "refused: nobody has reviewed this step yet")
    return words if rule is None else f"{words}: {_summary(rule)}" if "rule" in words else _summary(rule)


def _summary(rule: Rule) -> str:
    exact = "" if rule.exact else " *The last bits may differ.*"
    return f"{_markdown(rule.summary)}{exact}"


def _difference(op_type: str, newer: int) -> str:
    """What the schema `newer` has that the one before has not, and the other way round."""
    old, new = schema_at(op_type, newer - 1), schema_at(op_type, newer)
    if old is None or new is None:
        return ""
    if new.deprecated:
        return "deprecated"
    parts = []
    for kind, names in (
        ("attribute", lambda schema: schema.attributes),
        ("input", lambda schema: [value.name for value in schema.inputs]),
        ("type", _types),
    ):
        added = [name for name in names(new) if name not in names(old)]
        gone = [name for name in names(old) if name not in names(new)]
        if kind == "input" and len(names(new)) == len(names(old)):
            continue  # they have other names only
        parts += [f"{kind}s new: {_codes(added)}"] * bool(added) + [f"{kind}s gone: {_codes(gone)}"] * bool(gone)
    return "; ".join(parts) or "the text of the specification, or a default"


def _types(schema: OpSchema) -> list[str]:
    """The element types that any input or output may have."""
    found = (name for value in (*schema.inputs, *schema.outputs) for name in value.types)
    return sorted({name.removeprefix("tensor(").removesuffix(")") for name in found if name.startswith("tensor(")})


def _expansion(op_type: str) -> str:
    first = _versions(op_type)[0]
    if first == 1:
        return ""
    rule = registry.decomposition(op_type)
    text = (
        f"{_summary(rule)} The new nodes are written for opset {rule.version}; further down, each goes on by its own rules."
        if rule
        else "It is refused, unless a simplification removes the node: no exact expression in older operators is known."
    )
    return f"## Before opset {first}\n\n{text}\n"


def _simplifications(op_type: str) -> str:
    rules = registry.simplifications(op_type)
    return _bullets("At any opset", "Where these apply, they are done in any case:", map(_summary, rules))


def _refusals(op_type: str) -> str:
    rules = [rule for rule in registry if rule.op_type == op_type and rule.kind in ("upgrade", "downgrade", "decompose")]
    found: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        for refusal in refusals(rule.apply):  # type: ignore[arg-type]
            found.setdefault(refusal, []).append(_where(rule))
    if not found:
        return ""
    rows = ((", ".join(dict.fromkeys(steps)), *map(_markdown, refusal)) for refusal, steps in found.items())
    lines = [f"| {steps} | {reason} | {hint} |" for steps, reason, hint in rows]
    intro = (
        "What these rules may say of a node; … stands for a name or a number. What has to be known of any operator, its types and\n"
        "shapes, is on [the page of errors](../docs/errors.md#the-target-cannot-express-it-status-1)."
    )
    return "\n".join(["## Refused, and why", "", intro, "", "| step | reason | hint |", "|---|---|---|", *lines, ""])


def _where(rule: Rule) -> str:
    if rule.kind == "decompose":
        return "expansion"
    return str(Transition(rule.op_type, rule.version, None, rule.kind == "upgrade"))


def _avoidances(op_type: str) -> str:
    lines = sorted({f"{_markdown(rule.form)}: {_summary(rule)}" for rule in registry.avoidances(op_type)})
    text = "Forms that some [runtime](../docs/runtimes.md) refuses or computes wrongly, and what `--for` puts in their place:"
    return _bullets("For runtimes", text, lines)


def _bullets(title: str, text: str, lines: Iterable[str]) -> str:
    items = [f"- {line}" for line in lines]
    return "\n".join([f"## {title}", "", text, "", *items, ""]) if items else ""


def _drawings(op_type: str) -> str:
    names = {rule.name for rule in registry if rule.op_type == op_type}
    found = [example for example in examples() if example.rule in names and f" {op_type} " in _spaced(example.before)]
    figures = [_figure(example, f"e{number}") for number, example in enumerate(found)]
    return "\n".join(["## Drawn", "", *figures]) if figures else ""


def _spaced(text: str) -> str:
    """ONNX text with a space on each side of an operator."""
    return text.replace("(", " ( ").replace("<", " < ").replace("=", " = ")


def _figure(example: Example, label: str) -> str:
    rewrites = rewrites_of(model(example.before, example.opset), example.target)
    step = f"opset {example.opset} → {example.target}" if example.opset != example.target else f"at opset {example.opset}"
    drawn = "".join(panels(each, f"{label}-{number}") for number, each in enumerate(distinct_rewrites(rewrites)))
    summary = next(rule.summary for rule in registry if rule.name == example.rule).rstrip(".")
    return f'### {_markdown(summary)}\n\n`{example.rule}`, {step}\n\n```{{raw}} html\n<div class="rewrite">{drawn}</div>\n```\n'


@cache
def examples() -> tuple[Example, ...]:
    """The rows of the tables REWRITES in tests/rules/ that are a whole conversion, between opsets that the installed onnx has."""
    found = (row for file in sorted(ROOT.glob("tests/rules/**/test_*.py")) for row in _rows(file))
    return tuple(Example(*row) for row in found if max(row[1], row[2]) <= newest_opset())


def _rows(file: Path) -> Iterator[tuple[str, int, int, str]]:
    """Rule, opset, target and model of each row; those that are no plain values, or need a runtime's profile, are left out."""
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "REWRITES":
            for row in statement.value.elts:  # type: ignore[attr-defined]
                values = tuple(cell.value for cell in row.elts[:4] if isinstance(cell, ast.Constant))
                if tuple(map(type, values)) == (str, int, int, str):
                    yield values  # type: ignore[misc]


def _codes(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(f"`{name}`" for name in names[:MOST_NAMES]) + more


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _markdown(text: str) -> str:
    """`text` of which Markdown and tables read nothing as their own."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|{}$~#" else char for char in text)
