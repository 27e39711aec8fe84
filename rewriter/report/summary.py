"""The text form of a report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import listed
from .data import remarks_of

if TYPE_CHECKING:
    from ..comparison.verdicts import Comparison, Piece
    from ..engine.registry import Rule
    from ..errors import Blocker
    from .data import ReportData


_EVIDENCE = ("proved for all shapes", "proved for the shapes tried", "same arithmetic", "sampled")


def summary(report: ReportData) -> str:
    """The report as a short table: lines separated by newlines."""
    left = len(remarks_of(report, "left"))
    rows = [
        *_for_runtimes(report),
        ("opset", _step(report.source_opset, report.target_opset)),
        ("IR version", _step(report.source_ir_version, report.ir_version)),
        ("nodes", _totals(report)),
        *_group("operators", aligned(_counts(report)), "counts unchanged"),
        *([("grew most", _growth(report))] if report.growth else []),
        *_group("rules", aligned((name, _nodes(n)) for name, n in sorted(report.applied.items())), "none needed"),
        *([("not simplified", f"{_nodes(left)} (-v says why)")] if left else []),
        *([("weights", str(report.weights))] if report.weights else []),
        *_fallback(report),
        ("check", f"passed: {report.checked}"),
        ("comparison", _comparison(report.comparison)),
        *([("certified", str(report.certificate))] if report.certificate is not None else []),
        *_titled("verified", [str(verified) for verified in report.verified]),
        *_titled("promised", report.untried),
    ]
    return "\n".join(aligned(rows))


def details(report: ReportData) -> Iterator[str]:
    """Lines about what each rule changed, the remarks about nodes, and the comparison of each output."""
    yield from map(str, report.changes)
    yield from (f"warning: {remark}" for remark in remarks_of(report, "warning"))
    yield from (f"empty tensors: {remark}" for remark in remarks_of(report, "empty"))
    yield from (f"not simplified: {remark}" for remark in remarks_of(report, "left"))
    yield from avoided(report)
    yield from (f"on the CPU: {remark}" for remark in remarks_of(report, "fallback"))
    yield from (f"not checked: {remark.op_type}: {remark.message}" for remark in remarks_of(report, "unchecked"))
    if report.certificate is not None:
        yield from (f"certified: {proof}" for proof in report.certificate.changes)
    if report.comparison is None:
        return
    if report.comparison.status == "equal" and report.comparison.reason and report.comparison.pieces:
        yield f"comparison: {report.comparison.reason}"
    for piece in report.comparison.pieces:
        reason = f" ({piece.reason})" if piece.reason else ""
        yield f"{piece.status}{_basis(piece)}: {_nodes(piece.count)} as {piece.example}, {piece.change}{reason}"
    for output in report.comparison.outputs:
        shape = ",".join(map(str, output.shape))
        yield (
            f"output '{output.name}' {output.dtype}[{shape}]: "
            f"max difference {output.max_abs:g} absolute, {output.max_rel:g} relative"
        )


def avoided(report: ReportData) -> Iterator[str]:
    """The nodes that were rewritten because a runtime refuses them or computes them wrongly."""
    yield from (f"avoided: {remark}" for remark in remarks_of(report, "avoided"))


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


def _for_runtimes(report: ReportData) -> list[tuple[str, str]]:
    return [("for", report.runtimes)] if report.runtimes else []


def _fallback(report: ReportData) -> list[tuple[str, str]]:
    """The nodes that runtimes leave to the CPU, as "3 of 120 nodes: TopK, NonMaxSuppression", and what nobody checked."""
    left, unchecked = remarks_of(report, "fallback"), remarks_of(report, "unchecked")
    total = sum(report.operators_after.values())
    names = listed(sorted({remark.op_type for remark in left}))
    rows = [("on the CPU", f"{len(left):,} of {total:,} nodes: {names} (-v says why)")] if left else []
    conditions = "1 condition" if len(unchecked) == 1 else f"{len(unchecked):,} conditions"
    return [*rows, *([("not checked", f"{conditions} that the list states in words (-v lists them)")] if unchecked else [])]


def _step(before: int | None, after: int | None) -> str:
    if before is None:
        return "none: the model does not import the domain ai.onnx"
    return f"{before}, unchanged" if before == after else f"{before} → {after}"


def in_a_line(report: ReportData, *what: str) -> str:
    """The name of the model, `what` it is, and how much there is to read: "'m.onnx', opset 18 to 13, 4 changes, 1 warning"."""
    named = [repr(report.name)] if report.name else []
    counts = {"change": len(report.changes), "warning": len(report.warnings), "blocker": len(report.blockers)}
    told = [f"{count:,} {what}{'' if count == 1 else 's'}" for what, count in counts.items() if count or what == "change"]
    return ", ".join((*named, *what, f"opset {report.source_opset} to {report.target_opset}", *told))


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
    allowed = "exact, " if exact else f"within rtol {comparison.rtol:g} and atol {comparison.atol:g}, "
    allowed = "" if exact and difference else allowed
    rests_on = f"; {comparison.reason}" if comparison.reason else ""
    return f"equal, {allowed}max difference {difference:g}{_basis(comparison)} ({comparison.runtime}){rests_on}"


def _basis(compared: Comparison | Piece) -> str:
    """What an "equal" rests on, such as ", proved for the shapes tried"; "" where nothing was run."""
    if not compared.evidence:
        return ""
    if compared.evidence.startswith("proved"):
        return f", {compared.evidence}"
    on = "on 1 input" if compared.samples == 1 else f"on {compared.samples:,} inputs"
    return f", also at extremes, {on}" if compared.evidence == "same arithmetic" else f", {on}"


def _comparison_of_pieces(comparison: Comparison) -> str:
    equal = [piece for piece in comparison.pieces if piece.status == "equal"]
    rest = len(comparison.pieces) - len(equal)
    kinds = Counter(piece.evidence for piece in equal)
    basis = "".join(f", {kinds[kind]} {kind}" for kind in _EVIDENCE if kinds[kind])
    text = f"node by node: {_nodes(sum(piece.count for piece in equal))} equal, {len(equal)} distinct{basis} ({comparison.runtime})"
    return f"{text}; {rest} distinct not compared: see the warning" if rest else text


def _totals(report: ReportData) -> str:
    """The number of nodes before and after, in all graphs and functions."""
    before, after = sum(report.operators_before.values()), sum(report.operators_after.values())
    return f"{before:,}, unchanged" if before == after else f"{before:,} → {after:,} ({after - before:+,})"


MOST_GROWN = 3
"""The number of operators that the summary names because they became more nodes."""


def _growth(report: ReportData) -> str:
    """The operators that became more nodes, as "Gelu: 2 → 10, LayerNormalization: 1 → 9"."""
    return ", ".join(f"{name}: {before:,} → {after:,}" for name, before, after in report.growth[:MOST_GROWN])


def _counts(report: ReportData) -> Iterator[tuple[str, ...]]:
    reasons = report.reasons
    for name, (before, after) in report.changed_operators.items():
        yield name, f"{before:,} → {after:,}", reasons[name]


def _group(title: str, lines: list[str], if_empty: str) -> list[tuple[str, str]]:
    """The rows of a table, of which only the first shows the title."""
    return _titled(title, lines or [if_empty])


def _titled(title: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip([title, *[""] * len(lines)], lines, strict=False))


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


def kind_of(blocker: Blocker) -> tuple[str, str, str]:
    """Operator, transition and reason without names and shapes, which are equal for the same obstacle in different models."""
    op_type, transition, reason, _ = likeness(blocker)
    return op_type, transition, _SHAPE.sub("shape (…)", reason)


_SHAPE = re.compile(r"shape [(\[][^)\]]*[)\]]")
"""A shape in a message."""
_QUOTED = re.compile(r"'[^']*'")
"""A quoted name in a message."""


def verdict(report: ReportData) -> str:
    """The findings of a dry run, as a short table."""
    answer = f"{_nodes(len(report.blockers))} cannot be converted" if report.blockers else "can be converted"
    rows = [*_for_runtimes(report), ("opset", _step(report.source_opset, report.target_opset)), ("dry run", answer)]
    if report.reach is not None and not (report.blockers and report.runtimes):  # the runtimes may take none of these opsets
        rows.append(("lowest", _limit(report.reach.lowest, "below", report.reach.below)))
        rows.append(("highest", _limit(report.reach.highest, "above", report.reach.above)))
    return "\n".join(aligned(rows))


def _limit(opset: int, side: str, stops: tuple[Blocker, ...]) -> str:
    """A line about the last opset within reach on one `side`, and what blocks the next one."""
    if len(stops) == 0:
        return f"opset {opset}"
    more = f" (and {len(stops) - 1:,} more)" if len(stops) > 1 else ""
    return f"opset {opset}; blocked {side} by: {stops[0]}{more}"
