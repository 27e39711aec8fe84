"""The report for people: one HTML page about one model, which loads nothing else and has no script."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from ..errors import Blocker
from .data import ReportData
from .finished import Finished, ModelFile
from .page_changes import changes
from .page_parts import frame, html_lines, html_name, html_text, status, step
from .page_sections import (
    about_the_result,
    blockers_section,
    comparison_section,
    operators_section,
    reach_section,
    remarks_section,
    rules_section,
)

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison


def make_page(finished: Finished) -> str:
    """All facts about one conversion as an HTML page."""
    end, report, is_good = finished.outcome, finished.report, finished.exit_status == 0
    sections = [_Section("blockers", "What cannot be converted", blockers_section(finished.blockers))]
    if report is not None:
        sections += _sections(finished, report)
    shown = [section for section in sections if section.body]
    title = _title(end, report, finished.target)
    files = html_name(finished.source.name) + (f" → {html_name(finished.written.name)}" if finished.written else "")
    head = (
        f'{status(is_good, html_text(end))}<h1>{html_text(title)}</h1><p class="lead">{files}</p>'
        f"{_message(end, finished.blockers, finished.error)}{'' if report is None else _tiles(report)}{_contents(shown)}"
    )
    body = "".join(section.html() for section in shown)
    name = html_text(Path(finished.source.name).name)
    return frame(f"{html_text(title)} · {name}", head, body, _facts(finished), is_good)


class _Section:
    """A section of the page, with a heading."""

    def __init__(self, label: str, title: str, body: str, note: str = "") -> None:
        self.label = label
        self.title = title
        self.body = body
        self._note = note

    def html(self) -> str:
        note = f'<p class="note">{html_text(self._note)}</p>' if self._note else ""
        return f'<section id="{self.label}"><h2>{self.title}</h2>{note}{self.body}</section>'


def _sections(finished: Finished, report: ReportData) -> list[_Section]:
    kinds = ("warning", "empty", "left", "fallback", "unchecked")
    warnings, empty, left, fallback, unchecked = ([r for r in report.remarks if r.kind == kind] for kind in kinds)
    drawn = "Each distinct rewrite once: the nodes as they were, and what stands in their place. What adds most nodes comes first."
    return [
        _Section("reach", "How far it can go", "" if report.reach is None else reach_section(report, report.reach)),
        _Section("warnings", "Warnings", remarks_section(warnings, "Warning") + about_the_result(report)),
        _Section("fallback", "Left to the CPU", remarks_section(fallback, "Why")),
        _Section("unchecked", "Not checked", remarks_section(unchecked, "What the list says in words")),
        _Section("changes", "What changed", changes(finished), drawn if finished.rewrites else ""),
        _Section("operators", "Operators", operators_section(report)),
        _Section("rules", "Rules", rules_section(report)),
        _Section("comparison", "Comparison", "" if report.comparison is None else comparison_section(report.comparison)),
        _Section("empty", "Empty tensors", remarks_section(empty, "What happens"), "What happens to empty tensors."),
        _Section("left", "Not simplified", remarks_section(left, "Why"), "Nodes that a simplification left as they are, and why."),
    ]


def _title(end: str, report: ReportData | None, asked: str) -> str:
    target = f" to {asked}" if asked else ""
    if report is not None and report.target_opset is not None:
        target = f" to opset {report.target_opset}"
    if report is not None and report.source_opset == report.target_opset and end in ("converted", "convertible"):
        opset = "" if report.target_opset is None else f" at opset {report.target_opset}"
        return f"{'Rewritten' if end == 'converted' else 'Can be rewritten'}{opset}"
    titles = {
        "converted": f"Converted{target}",
        "convertible": f"Can be converted{target}",
        "not convertible": f"Cannot be converted{target}",
        "unusable": "Not converted: the input or the request cannot be used",
        "failed a check": "Not converted: the result failed a check",
    }
    return titles.get(end, "Failed")


def _message(end: str, blockers: Sequence[Blocker], error: BaseException | None) -> str:
    if end == "not convertible":
        count = "1 node" if len(blockers) == 1 else f"{len(blockers):,} nodes"
        return f'<p class="lead">{count} cannot be converted. Nothing was written.</p>'
    if error is None:
        return ""
    text = str(error) or type(error).__name__
    return f'<p class="message">{html_lines(text)}</p><p class="lead">Nothing was written.</p>'


def _tiles(report: ReportData) -> str:
    rules = report.applied
    changed = len(report.rewrites)
    tiles = [
        ("Opset", step(report.source_opset, report.target_opset), ""),
        ("IR version", step(report.source_ir_version, report.ir_version), ""),
        ("Nodes", *_node_counts(report)),
        ("Rewritten", f"{changed:,}", f"by {len(rules)} rule{'s' * (len(rules) != 1)}" if changed else "no node had to change"),
    ]
    if report.growth:
        name, before, after = report.growth[0]
        tiles.append(("Grew most", html_text(name), f"{before:,} → {after:,} node{'s' * (after != 1)}"))
    if report.checked:
        tiles.append(("Check", "passed", html_text(report.checked)))
        tiles.append(("Comparison", *_verdict(report.comparison)))
    if report.runtimes:
        tiles.insert(0, ("For", html_text(report.runtimes), ""))
    if report.certificate is not None:
        tiles.append(("Certified", "all" if report.certificate.is_proved else "not all", html_text(str(report.certificate))))
    tiles += [("Verified", "equal", html_text(str(verified))) for verified in report.verified]
    tiles += [("Not tried", "promised", html_text(promise)) for promise in report.untried]
    cells = "".join(f"<div><dt>{label}</dt><dd>{value}<small>{small}</small></dd></div>" for label, value, small in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _node_counts(report: ReportData) -> tuple[str, str]:
    before, after = sum(report.operators_before.values()), sum(report.operators_after.values())
    kinds = len(report.operators_before), len(report.operators_after)
    if not report.checked:
        return f"{before:,}", f"{kinds[0]} operator{'s' * (kinds[0] != 1)}"
    return step(before, after), f"{step(*kinds)} operator{'s' * (kinds[1] != 1)}"


def _verdict(comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None:
        return "off", ""
    exact = comparison.rtol == comparison.atol == 0
    how = "node by node" if comparison.pieces else "exact, on what was tried" if exact else "within tolerance"
    how = "for the reason below" if comparison.reason and not comparison.pieces else how
    if comparison.status != "equal" or not comparison.runtime:
        how = "see the warning" if comparison.status != "equal" else "nothing changed"
    return html_text(comparison.status), how


def _contents(sections: Sequence[_Section]) -> str:
    links = "".join(f'<a href="#{section.label}">{section.title}</a>' for section in sections)
    return f'<nav aria-label="Contents">{links}</nav>' if len(sections) > 1 else ""


def _facts(finished: Finished) -> str:
    rows = [("Input", _file(finished.source))]
    if finished.written is not None:
        rows.append(("Output", _file(finished.written)))
    if finished.report is not None and finished.report.weights is not None:
        rows.append(("Weights", html_text(str(finished.report.weights))))
    rows.append(("Versions", f"split-rewrite {html_text(version('split-rewrite'))}, onnx {html_text(onnx.__version__)}"))
    rows.append(("Exit status", str(finished.exit_status)))
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{value}</dd>' for label, value in rows)}</dl>"


def _file(model: ModelFile) -> str:
    facts = model.facts()
    if facts["sha256"] is None:
        return f"{html_name(model.name)}, cannot be read"
    return f'{html_name(model.name)}, {facts["bytes"]:,} bytes, SHA-256 <span class="mono">{facts["sha256"]}</span>'
