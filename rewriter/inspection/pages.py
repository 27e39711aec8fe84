"""An inspection, or a difference, as lines for a terminal, as JSON, and as an HTML page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape

from ..report.page_parts import frame, status, table
from ..report.summary import aligned
from .difference import Difference
from .inspecting import Inspection
from .suitability import Suitability

SCHEMA = "split-rewrite/inspection"
SCHEMA_VERSION = 1
_LONGEST = 80
"""The number of characters of a reason that a terminal shows."""
_MORE = re.compile(r" \(and [\d,]+ more\)$")
"""How a reason ends that stands for several."""
_MOST_OPERATORS = 12
"""The number of operators of a domain that a terminal shows; the reports have all."""


def as_text(found: Inspection) -> Iterator[str]:
    """The lines for a terminal: facts, then one line for each runtime."""
    yield from aligned(list(_facts(found)))
    if found.runtimes:
        yield ""
        yield from aligned([("runtime", "takes it", ""), *((row.title, row.answer, _why(row)) for row in found.runtimes)])


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    yield "opset", "none: the model does not import the domain ai.onnx" if found.opset is None else str(found.opset)
    yield "IR version", str(found.ir_version)
    yield "exporter", found.exporter or "not stated"
    yield from _rows("inputs", [f"{value.name}  {value.type}" for value in found.inputs])
    yield from _rows("outputs", [f"{value.name}  {value.type}" for value in found.outputs])
    yield from _rows("parameters", [f"{name}: {count:,} in {_bytes(size)}" for name, (count, size) in found.parameters.items()])
    yield "nodes", f"{found.nodes:,}"
    for domain, operators in found.operators.items():
        most = sorted(operators.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = [f"{name} {count:,}" for name, count in most[:_MOST_OPERATORS]]
        rest = [f"and {len(most) - _MOST_OPERATORS} more"] if len(most) > _MOST_OPERATORS else []
        yield domain, ", ".join([*shown, *rest])
    yield from _rows("open", found.open)
    yield from _rows("repaired", [str(remark) for remark in found.repaired])
    if found.reach is not None:
        yield "lowest", _limit(found.reach.lowest, [str(blocker) for blocker in found.reach.below])
        yield "highest", _limit(found.reach.highest, [str(blocker) for blocker in found.reach.above])


def _rows(title: str, values: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from zip([title, *[""] * len(values)], values or ["none"], strict=False)


def _limit(opset: int, stops: Sequence[str]) -> str:
    return f"opset {opset}; then: {stops[0]}" if stops else f"opset {opset}"


def _why(row: Suitability) -> str:
    """The beginning of the reason, and what the answer is from."""
    reason = _beginning(row)
    return f"{reason}{' ' if reason else ''}({row.evidence})"


def _beginning(row: Suitability) -> str:
    """The first clause of the reason, without the runtime's name, which the line has already; the reports have all of it."""
    found = _MORE.search(row.reason)
    more = found[0] if found else ""
    text = row.reason.removesuffix(more).replace(" (main graph): ", ": ", 1).replace(f": {row.title} does not allow it: ", ": ", 1)
    clause = re.split(r"; |\. ", text.replace(f": {row.title} ", ": it ", 1), maxsplit=1)[0]
    return f"{clause if len(clause) <= _LONGEST else f'{clause[: _LONGEST - 1]}…'}{more}"


def _bytes(size: int) -> str:
    for scale, unit in ((1, "bytes"), (1_000, "kB"), (1_000_000, "MB")):
        if size < scale * 1000:
            return f"{size} {unit}" if scale == 1 else f"{size / scale:.1f} {unit}"
    return f"{size / 1e9:.1f} GB"


def as_json(name: str, found: Inspection) -> str:
    """The inspection as a JSON document. docs/inspect.md describes its fields."""
    reach = found.reach
    document = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "input": name,
        **{key: value for key, value in asdict(found).items() if key not in ("reach", "runtimes", "repaired", "parameters")},
        "nodes": found.nodes,
        "parameters": {kind: {"elements": count, "bytes": size} for kind, (count, size) in found.parameters.items()},
        "repaired": [remark._asdict() for remark in found.repaired],
        "lowest": None if reach is None else reach.lowest,
        "highest": None if reach is None else reach.highest,
        "below": [] if reach is None else [blocker._asdict() for blocker in reach.below],
        "above": [] if reach is None else [blocker._asdict() for blocker in reach.above],
        "runtimes": [row._asdict() for row in found.runtimes],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_page(name: str, found: Inspection) -> str:
    """The inspection as an HTML page that loads nothing else."""
    facts = table("Facts", ["Fact", "Why"], [(escape(fact), escape(value)) for fact, value in _facts(found)])
    rows = [(escape(row.title), row.answer, escape(row.reason), escape(row.evidence)) for row in found.runtimes]
    runtimes = table("Runtimes", ["Runtime", "Takes it", "Reason", "Evidence"], rows)
    body = f'<section id="facts"><h2>The model</h2>{facts}</section><section id="runtimes"><h2>Runtimes</h2>{runtimes}</section>'
    top = f"{status(True, 'inspected')}<h1>{escape(name)}</h1>"
    return frame(f"{escape(name)} · split-rewrite", top, body, "split-rewrite inspect", True)


def differences_as_text(found: Sequence[Difference]) -> Iterator[str]:
    """A line for each difference, and one with their numbers."""
    yield from map(str, found)
    counts = [f"{sum(one.kind == kind for one in found):,} {kind}" for kind in ("added", "removed", "changed")]
    yield ", ".join(counts) if found else "no difference"


def differences_as_json(before: str, after: str, found: Sequence[Difference]) -> str:
    """The differences as a JSON document."""
    rows = [one._asdict() for one in found]
    document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "before": before, "after": after, "differences": rows}
    return json.dumps(document, indent=2, ensure_ascii=False)


def differences_as_page(before: str, after: str, found: Sequence[Difference]) -> str:
    """The differences as an HTML page."""
    rows = [tuple(map(escape, one)) for one in found]
    body = f"<section><h2>Differences</h2>{table('Differences', ['Kind', 'What', 'Name', 'Why'], rows) or 'None.'}</section>"
    top = f"{status(True, 'compared')}<h1>{escape(before)} and {escape(after)}</h1>"
    return frame("Differences · split-rewrite", top, body, "split-rewrite inspect", True)
