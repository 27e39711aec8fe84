"""The report of a conversion, and its text form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison
    from ..comparison.verification import Verified
    from ..engine.outcome import Change, Remark, Rewrite
    from ..engine.reach import Reach
    from ..engine.registry import Rule
    from ..errors import Blocker


@dataclass
class Report:
    """Everything that a conversion reports. Opsets are those of the default domain, None where the model does not import it."""

    source_opset: int | None
    target_opset: int | None
    source_ir_version: int
    ir_version: int
    operators_before: Counter[str] = field(default_factory=Counter)
    """The number of nodes of each operator ("domain::op_type" outside the default domain) before the
    conversion, in all graphs and functions.
    """
    operators_after: Counter[str] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    """Every use of a rule that changed a node."""
    rewrites: list[Rewrite] = field(default_factory=list)
    """All changes taken together, one entry for each node of the original."""
    inexact: set[str] = field(default_factory=set)
    """The rules in `changes` whose results may differ in the last bits."""
    sums: bool = False
    """Whether one of these rules adds up many terms, which may cancel out."""
    remarks: list[Remark] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    """In a dry run, the nodes that cannot be converted."""
    reach: Reach | None = None
    """In a dry run, the opsets within reach."""
    not_loaded: str = ""
    """A warning where the installed onnxruntime does not load models of the target opset, else ""."""
    runtimes: str = ""
    """The runtimes that the result is for, such as "OpenVINO 2024.2 and MNN 3.6"."""
    notes: list[str] = field(default_factory=list)
    """Messages for the user about the data files."""
    checked: str = ""
    comparison: Comparison | None = None
    verified: Verified | None = None
    """The result of --verify-with: the result computes the same in another runtime. None where this was not requested."""

    @property
    def applied(self) -> Counter[str]:
        """The number of nodes that each rule changed, by the name of the rule."""
        return Counter(change.rule for change in self.changes)

    @property
    def changed_operators(self) -> dict[str, tuple[int, int]]:
        """The operators whose number of nodes changed: name → (before, after)."""
        names = sorted(self.operators_before.keys() | self.operators_after.keys())
        pairs = {name: (self.operators_before[name], self.operators_after[name]) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def growth(self) -> list[tuple[str, int, int]]:
        """The operators that became more nodes: (name, nodes of the original, nodes that replace them),
        those that added most first.
        """
        before = Counter(rewrite.op_type for rewrite in self.rewrites)
        after: Counter[str] = Counter()
        for rewrite in self.rewrites:
            after[rewrite.op_type] += len(rewrite.nodes)
        grown = [(name, count, after[name]) for name, count in before.items() if after[name] > count]
        return sorted(grown, key=lambda entry: (entry[1] - entry[2], entry[0]))

    @property
    def warnings(self) -> list[str]:
        """Messages for the user about a conversion that succeeded, one line each. A message about many nodes is given once."""
        return list(_warnings(self))

    def __str__(self) -> str:
        """The report as a short table."""
        return summary(self) if self.reach is None else verdict(self)


def summary(report: Report) -> str:
    """The report as a short table: lines separated by newlines."""
    left = len(_remarks(report, "left"))
    rows = [
        *_for_runtimes(report),
        ("opset", _step(report.source_opset, report.target_opset)),
        ("IR version", _step(report.source_ir_version, report.ir_version)),
        ("nodes", _totals(report)),
        *_group("operators", aligned(_counts(report)), "counts unchanged"),
        *([("grew most", _growth(report))] if report.growth else []),
        *_group("rules", aligned((name, _nodes(n)) for name, n in sorted(report.applied.items())), "none needed"),
        *([("not simplified", f"{_nodes(left)} (-v says why)")] if left else []),
        ("check", f"passed: {report.checked}"),
        ("comparison", _comparison(report.comparison)),
        *([("verified", str(report.verified))] if report.verified else []),
    ]
    return "\n".join(aligned(rows))


def _warnings(report: Report) -> Iterator[str]:
    """The lines of `Report.warnings`."""
    alike: dict[tuple[str, str], list[Remark]] = {}
    yield from report.notes
    for remark in _remarks(report, "warning"):
        alike.setdefault((remark.op_type, remark.message), []).append(remark)
    for (op_type, message), (first, *others) in alike.items():
        more = f" and {len(others):,} more" if others else ""
        yield f"{op_type} '{first.node}' ({first.where}){more}: {message}"
    if report.not_loaded:
        yield report.not_loaded
    if report.comparison is not None and report.comparison.status == "not compared":
        yield f"the result was not compared: {report.comparison.reason}"
    if report.comparison is not None and report.comparison.status == "partly compared":
        yield f"the result was compared in part: {report.comparison.reason}"
    if report.comparison is not None and report.comparison.refused:
        yield f"the result is equal in another runtime alone: {report.comparison.reason}"


def details(report: Report) -> Iterator[str]:
    """Lines about what each rule changed, the remarks about nodes, and the comparison of each output."""
    yield from map(str, report.changes)
    yield from (f"warning: {remark}" for remark in _remarks(report, "warning"))
    yield from (f"not simplified: {remark}" for remark in _remarks(report, "left"))
    yield from avoided(report)
    if report.comparison is None:
        return
    if report.comparison.status == "equal" and report.comparison.reason:
        yield f"comparison: {report.comparison.reason}"
    for piece in report.comparison.pieces:
        reason = f" ({piece.reason})" if piece.reason else ""
        yield f"{piece.status}: {_nodes(piece.count)} as {piece.example}, {piece.change}{reason}"
    for output in report.comparison.outputs:
        shape = ",".join(map(str, output.shape))
        yield (
            f"output '{output.name}' {output.dtype}[{shape}]: "
            f"max difference {output.max_abs:g} absolute, {output.max_rel:g} relative"
        )


def avoided(report: Report) -> Iterator[str]:
    """The nodes that were rewritten because a runtime refuses them or computes them wrongly."""
    yield from (f"avoided: {remark}" for remark in _remarks(report, "avoided"))


def rule_table(rules: Iterable[Rule], mechanisms: Mapping[str, str]) -> str:
    """A line for each rule: name, kind, the opset in its decorator, operators and summary; then what the
    engine does without a rule.
    """
    operators: dict[tuple[str, str, int, str], set[str]] = {}
    for rule in rules:  # a rule that avoids several forms of an operator is registered for each
        operators.setdefault((rule.name, rule.kind, rule.version, rule.summary), set()).add(rule.op_type)
    rows = [
        (name, kind, str(version), f"{', '.join(sorted(names))}: {summary}")
        for (name, kind, version, summary), names in sorted(operators.items())
    ]
    rows += [(name, "any", "any", f"all operators: {summary}") for name, summary in mechanisms.items()]
    return "\n".join(aligned(sorted(rows)))


def _for_runtimes(report: Report) -> list[tuple[str, str]]:
    return [("for", report.runtimes)] if report.runtimes else []


def _remarks(report: Report, kind: Literal["left", "warning", "avoided"]) -> list[Remark]:
    return [remark for remark in report.remarks if remark.kind == kind]


def _step(before: int | None, after: int | None) -> str:
    if before is None:
        return "none: the model does not import the domain ai.onnx"
    return f"{before}, unchanged" if before == after else f"{before} → {after}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


def _comparison(comparison: Comparison | None) -> str:
    if comparison is None:
        return "off"
    if comparison.status == "not compared":
        return "not possible: see the warning"
    if comparison.pieces:
        return _comparison_of_pieces(comparison)
    if not comparison.runtime:
        return "equal: no node changed, and no operator in the model has another definition"
    difference = max((output.max_abs for output in comparison.outputs), default=0.0)
    exact = comparison.rtol == comparison.atol == 0
    allowed = "exact" if exact else f"within rtol {comparison.rtol:g} and atol {comparison.atol:g}"
    return f"equal, {allowed}, max difference {difference:g} ({comparison.runtime})"


def _comparison_of_pieces(comparison: Comparison) -> str:
    equal = [piece for piece in comparison.pieces if piece.status == "equal"]
    rest = len(comparison.pieces) - len(equal)
    text = f"node by node: {_nodes(sum(piece.count for piece in equal))} equal, {len(equal)} distinct ({comparison.runtime})"
    return f"{text}; {rest} distinct not compared: see the warning" if rest else text


def _totals(report: Report) -> str:
    """The number of nodes before and after, in all graphs and functions."""
    before, after = sum(report.operators_before.values()), sum(report.operators_after.values())
    return f"{before:,}, unchanged" if before == after else f"{before:,} → {after:,} ({after - before:+,})"


MOST_GROWN = 3
"""The number of operators that the summary names because they became more nodes."""


def _growth(report: Report) -> str:
    """The operators that became more nodes, as "Gelu: 2 → 10, LayerNormalization: 1 → 9"."""
    return ", ".join(f"{name}: {before:,} → {after:,}" for name, before, after in report.growth[:MOST_GROWN])


def _counts(report: Report) -> Iterator[tuple[str, ...]]:
    for name, (before, after) in report.changed_operators.items():
        yield name, f"{before:,} → {after:,}"


def _group(title: str, lines: list[str], if_empty: str) -> list[tuple[str, str]]:
    """The rows of a table, of which only the first shows the title."""
    return list(zip([title, *[""] * len(lines)], lines or [if_empty], strict=False))


def aligned(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """One line for each row, with the columns aligned."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


LISTED_IN_FULL = 20
"""The number of blockers up to which each has its own line; if there are more, similar ones share a line."""


def grouped(blockers: Sequence[Blocker]) -> Iterator[str]:
    """A line for each blocker; if there are many, those that differ only in names share a line, with their number."""
    if len(blockers) <= LISTED_IN_FULL:
        yield from map(str, blockers)
        return
    for group in alike(blockers):
        more = "" if len(group) == 1 else f" (and {len(group) - 1:,} more like it; -v lists them)"
        yield f"{group[0]}{more}"


def alike(blockers: Iterable[Blocker]) -> list[list[Blocker]]:
    """The blockers in groups of those that differ only in names."""
    groups: dict[tuple[str, str, str, str], list[Blocker]] = {}
    for blocker in blockers:
        groups.setdefault(likeness(blocker), []).append(blocker)
    return list(groups.values())


def likeness(blocker: Blocker) -> tuple[str, str, str, str]:
    """Operator, transition, reason and hint, with "…" for names, so that they are equal for blockers that differ only in names."""
    reason, hint = (_QUOTED.sub("'…'", text) for text in (blocker.reason, blocker.hint))
    return blocker.op_type, blocker.transition, reason, hint


_QUOTED = re.compile(r"'[^']*'")
"""A quoted name in a message."""


def verdict(report: Report) -> str:
    """The findings of a dry run, as a short table."""
    answer = f"{_nodes(len(report.blockers))} cannot be converted" if report.blockers else "can be converted"
    rows = [*_for_runtimes(report), ("opset", _step(report.source_opset, report.target_opset)), ("dry run", answer)]
    if report.reach is not None:
        rows.append(("lowest", _limit(report.reach.lowest, "below", report.reach.below)))
        rows.append(("highest", _limit(report.reach.highest, "above", report.reach.above)))
    return "\n".join(aligned(rows))


def _limit(opset: int, side: str, stops: tuple[Blocker, ...]) -> str:
    """A line about the last opset within reach on one `side`, and what blocks the next one."""
    if len(stops) == 0:
        return f"opset {opset}"
    more = f" (and {len(stops) - 1:,} more)" if len(stops) > 1 else ""
    return f"opset {opset}; blocked {side} by: {stops[0]}{more}"
