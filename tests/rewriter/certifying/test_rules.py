"""Which rules of Split, of sequences, and of what moves elements or computes shapes are proved for all shapes, on templates with open
dimensions. `PYTHONPATH=tests/support:tests python tests/rewriter/certifying/test_rules.py` writes docs/proved_rules.md.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import NamedTuple

from certified import TEMPLATES, Template, template_model
from documentation import ROOT
from helpers import convert_version

from split_rewrite.rewriter.certifying.proving import certify

PAGE = ROOT / "docs" / "proved_rules.md"


class _Found(NamedTuple):
    opset: int
    target: int
    nodes: str
    rules: tuple[str, ...]
    is_proved: bool
    is_refuted: bool


@cache
def _found() -> tuple[_Found, ...]:
    return tuple(map(_of_template, TEMPLATES))


def _of_template(template: Template) -> _Found:
    original = template_model(template)
    result = convert_version(original, template.target, compare="off")
    proof = certify(original.SerializeToString(), result.model.SerializeToString())
    is_refuted = any(change.lengths for change in proof.changes)
    shown = f"{template.inputs}: {template.nodes}"
    return _Found(template.opset, template.target, shown, tuple(sorted(result.report.applied)), proof.is_proved, is_refuted)


def _page() -> str:
    by_rule: dict[str, list[_Found]] = defaultdict(list)
    for found in _found():
        for rule in found.rules:
            by_rule[rule].append(found)
    lines = [
        "# Rules that are proved for all shapes",
        "",
        "[The solver](certify.md) shows of each conversion below that it is right for all lengths of the dimensions with a name, with which the",
        "original is valid. A rule counts as proved for these templates, with these ranks, and not for every node that it may see.",
        "",
        "| rule | opsets | template | |",
        "|---|---|---|---|",
    ]
    for rule, founds in sorted(by_rule.items()):
        for found in founds:
            verdict = "proved" if found.is_proved else "not proved"
            lines.append(f"| {rule} | {found.opset} → {found.target} | `{found.nodes}` | {verdict} |")
    proved = sorted(rule for rule, founds in by_rule.items() if all(found.is_proved for found in founds))
    lines += ["", f"Proved for all of their templates: {len(proved)} of {len(by_rule)} rules."]
    return "\n".join(lines) + "\n"


def test_no_rule_is_refuted() -> None:
    for found in _found():
        assert not found.is_refuted, found


def test_each_template_is_rewritten() -> None:
    assert [found.nodes for found in _found() if not found.rules] == []


def test_the_page_says_what_is_proved() -> None:
    assert PAGE.read_text(encoding="utf-8") == _page()


if __name__ == "__main__":
    PAGE.write_text(_page(), encoding="utf-8")
