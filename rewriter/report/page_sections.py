"""The sections of the page about one model, as HTML; a section is "" where it has nothing to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..engine.outcome import Remark
from ..engine.registry import registry
from ..engine.selection import MECHANISMS
from ..errors import Blocker
from ..opsets.transitions import newest_opset
from .data import ReportData
from .page_parts import Cells, breakable, folded, html_name, html_places, html_text, signed, table
from .summary import alike

if TYPE_CHECKING:
    from ..comparison.by_model import Comparison
    from ..engine.reach import Reach


def blockers_section(blockers: Iterable[Blocker]) -> str:
    rows = [_blocker_row(group) for group in alike(blockers)]
    return table("What the target cannot express", ("Operator", "Nodes#", "Step", "Reason", "Where"), rows)


def _blocker_row(group: Sequence[Blocker]) -> Cells:
    first = group[0]
    hint = f'<span class="hint">Hint: {html_text(first.hint, 600)}</span>' if first.hint else ""
    reason = html_text(first.reason, 600) + hint
    names = [(blocker.node, blocker.where) for blocker in group]
    return html_text(first.op_type), f"{len(group):,}", html_text(first.transition), reason, html_places(names)


def reach_section(report: ReportData, reach: Reach) -> str:
    items: list[str] = []
    for opset in range(1, max(newest_opset(), report.target_opset or 1) + 1):
        labels = [
            *(["within"] if reach.lowest <= opset <= reach.highest else []),
            *(["here"] if opset == report.source_opset else []),
            *(["asked"] if opset == report.target_opset else []),
        ]
        items.append(f'<li class="{" ".join(labels)}">{opset}</li>' if labels else f"<li>{opset}</li>")
    source, target = report.source_opset, report.target_opset
    asked = "" if source == target else f" and the {target} that was asked for"
    text = (
        f"From opset {source}, the model reaches opset {reach.lowest} to {reach.highest}. "
        f"Outlined: the {source} that it has{asked}."
    )
    scale = f'<ol class="scale" aria-label="Opsets within reach are {reach.lowest} to {reach.highest}">{"".join(items)}</ol>'
    rows = [
        (direction, *_blocker_row(group))
        for direction, stops in (("below", reach.below), ("above", reach.above))
        for group in alike(stops)
    ]
    headers = ("Further", "Operator", "Nodes#", "Step", "Reason", "Where")
    return f'{scale}<p class="note">{text}</p>{table("What stops it there", headers, rows)}'


def remarks_section(remarks: Iterable[Remark], header: str) -> str:
    groups: dict[tuple[str, str], list[Remark]] = {}
    for remark in remarks:
        groups.setdefault((remark.op_type, remark.message), []).append(remark)
    rows = [
        (html_text(op_type), f"{len(group):,}", html_text(message, 600), html_places([(r.node, r.where) for r in group]))
        for (op_type, message), group in groups.items()
    ]
    return table(f"{header} by operator", ("Operator", "Nodes#", header, "Where"), rows)


def about_the_result(report: ReportData) -> str:
    """The warnings that are about the result as a whole, not about a single node."""
    lines = [*report.about_runtimes, *filter(None, [report.not_loaded])]
    return "".join(f"<p>{html_text(line)}</p>" for line in lines) + _not_compared(report.comparison)


def _not_compared(comparison: Comparison | None) -> str:
    if comparison is None or (comparison.status == "equal" and not comparison.refused):
        return ""
    ways = {"equal": "is equal in another runtime alone", "partly compared": "was compared in part"}
    how = ways.get(comparison.status, "was not compared")
    return f"<p>The result {how}: {html_text(comparison.reason, 1000)}</p>"


def operators_section(report: ReportData) -> str:
    before, after = report.operators_before, report.operators_after
    if not report.checked:
        rows = [(html_text(name), f"{count:,}") for name, count in sorted(before.items())]
        return folded(f"The {len(rows)} operators of the model", table("Operators", ("Operator", "Nodes#"), rows))
    headers = ("Operator", "Before#", "After#", "Change#", "Why")
    reasons = report.reasons
    changed = [
        (html_text(name), f"{b:,}", f"{a:,}", signed(a - b), html_text(reasons[name], 400))
        for name, (b, a) in report.changed_operators.items()
    ]
    same = [(html_text(name), f"{count:,}") for name, count in sorted(before.items()) if after.get(name) == count]
    body = table("Operators whose number changed", headers, changed) or '<p class="note">No operator changed in number.</p>'
    unchanged = table("Operators whose number stayed", ("Operator", "Nodes#"), same)
    return body + (
        folded(f"{len(same)} operator{'s' * (len(same) != 1)} with the same number of nodes as before", unchanged) if same else ""
    )


def rules_section(report: ReportData) -> str:
    summaries = {rule.name: rule.summary for rule in registry}
    rows: list[Cells] = []
    for name, count in report.applied.most_common():
        summary = summaries.get(name) or MECHANISMS.get(name.partition(".")[0], "")
        exact = "the last bits may differ" if name in report.inexact else "exact"
        tag = f'<span class="tag {"note" if name in report.inexact else "good"}">{exact}</span>'
        simplified = sum(change.rule == name and not change.needed for change in report.changes)
        tag += f' <span class="note">{simplified:,} not needed for the target</span>' if simplified else ""
        rows.append((f"<code>{breakable(name)}</code>", f"{count:,}", html_text(summary), tag))
    return table("Rules that changed nodes", ("Rule", "Nodes#", "What it does", "Result"), rows)


def comparison_section(comparison: Comparison) -> str:
    status = {"equal": "Equal", "partly compared": "Compared in part", "not compared": "Not compared"}
    label = status.get(comparison.status, comparison.status)
    kind = "good" if comparison.status == "equal" else "note"
    reason = f' <span class="note">{html_text(comparison.reason, 1000)}</span>' if comparison.reason else ""
    basis = f" {html_text(comparison.evidence.capitalize())}, {comparison.samples:,} inputs." if comparison.evidence else ""
    run = f" Run on the same inputs by {html_text(comparison.runtime)}; seed of the random ones: {comparison.seed}.{basis}"
    head = f'<p><span class="tag {kind}">{label}</span>{run if comparison.runtime else ""}{reason}</p>'
    outputs = [
        (html_name(o.name), html_text(o.dtype), _shape(o.shape), *(f"{x:g}" for x in (o.max_abs, o.max_rel, o.rtol, o.atol)))
        for o in comparison.outputs
    ]
    pieces = [
        (
            html_text(p.change),
            f"{p.count:,}",
            html_text(p.example),
            _tag(p.status),
            html_text(p.evidence),
            f"{p.samples:,}",
            f"{p.max_abs:g}",
            html_text(p.reason, 400),
        )
        for p in comparison.pieces
    ]
    return (
        head
        + table(
            "The outputs: the largest differences, and what was allowed",
            ("Output", "Type", "Shape", "Absolute#", "Relative#", "rtol#", "atol#"),
            outputs,
        )
        + table(
            "Changes of nodes that were run, old against new",
            ("Change", "Nodes#", "Example", "Verdict", "Evidence", "Inputs#", "Difference#", "Reason"),
            pieces,
        )
    )


def _shape(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape[:16])) or "scalar"


def _tag(status: str) -> str:
    kind = {"equal": "good", "different": "bad"}.get(status, "note")
    return f'<span class="tag {kind}">{html_text(status)}</span>'
