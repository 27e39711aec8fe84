"""The report for people: one HTML page that loads nothing else and has no script.

What it shows is limited (`MAX_…`), so that the page stays small for any model; the JSON report has everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from ..engine.outcome import Remark
from ..engine.registry import registry
from ..engine.selection import MECHANISMS
from ..errors import Blocker, UnconvertibleError
from ..graph.protos import subgraphs
from ..opsets.transitions import newest_opset
from .distinct_rewrites import DistinctRewrite, distinct_rewrites
from .drawing import LARGE, MAX_NODES, Values, draw, node_line, visible
from .json_document import ModelFile, file_facts, node_text, outcome
from .page_head import head
from .summary import Report, alike

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..comparison.verdicts import Comparison
    from ..engine.reach import Reach

MAX_DRAWINGS = 20
"""The number of distinct rewrites that are drawn; further ones are written as text."""
MAX_DRAWN = 400_000
"""The number of characters of SVG after which no further drawing is started."""
MAX_SHOWN = 120
"""The number of distinct rewrites that are shown at all."""
MAX_WRITTEN = 200_000
"""The number of characters of text forms after which no further one is shown."""
HALF_WIDTH = 480
"""The width in pixels of the widest drawing that fits beside another one."""
MAX_ROWS = 100
"""The number of rows of a table."""
MAX_NAMES = 12
"""The number of names in one cell."""
MAX_LINES = 40
"""The number of nodes of one rewrite that are written as text."""

_Cells = Sequence[str]


def make_page(
    source: ModelFile, destination: ModelFile | None, report: Report | None, error: BaseException | None, exit_status: int
) -> str:
    """All facts about one run as an HTML page. `report` is None where the run failed before a report was made."""
    end = outcome(report, error, destination)
    blockers = error.blockers if isinstance(error, UnconvertibleError) else () if report is None else report.blockers
    sections = [_Section("blockers", "What cannot be converted", _blockers(blockers))]
    if report is not None:
        sections += _sections(report)
    shown = [section for section in sections if section.body]
    title = _title(end, report)
    files = f"{_name(source.name)}" + (f" → {_name(destination.name)}" if destination and error is None else "")
    return (
        f"{head(f'{_text(title)} · {_text(Path(source.name).name)}')}<body>"
        f'<header class="{"good" if exit_status == 0 else "bad"}"><div>'
        f'<span class="status"><span aria-hidden="true">{"✓" if exit_status == 0 else "✗"}</span>{_text(end)}</span>'
        f'<h1>{_text(title)}</h1><p class="lead">{files}</p>{_message(end, blockers, error)}'
        f"{'' if report is None else _tiles(report)}{_contents(shown)}</div></header>"
        f"<main>{''.join(section.html() for section in shown)}</main>"
        f"<footer>{_facts(source, destination if error is None else None, exit_status)}</footer></body></html>"
    )


class _Section:
    """A section of the page, with a heading."""

    def __init__(self, label: str, title: str, body: str, note: str = "") -> None:
        self.label = label
        self.title = title
        self.body = body
        self._note = note

    def html(self) -> str:
        note = f'<p class="note">{_text(self._note)}</p>' if self._note else ""
        return f'<section id="{self.label}"><h2>{self.title}</h2>{note}{self.body}</section>'


def _sections(report: Report) -> list[_Section]:
    warnings, left = ([r for r in report.remarks if r.kind == kind] for kind in ("warning", "left"))
    drawn = "Each distinct rewrite once: the nodes as they were, and what stands in their place. What adds most nodes comes first."
    return [
        _Section("reach", "How far it can go", "" if report.reach is None else _reach(report, report.reach)),
        _Section("warnings", "Warnings", _remarks(warnings, "Warning") + _of_the_result(report)),
        _Section("changes", "What changed", _changes(report), drawn if report.rewrites else ""),
        _Section("operators", "Operators", _operators(report)),
        _Section("rules", "Rules", _rules(report)),
        _Section("comparison", "Comparison", "" if report.comparison is None else _comparison(report.comparison)),
        _Section("left", "Not simplified", _remarks(left, "Why"), "Nodes that a simplification left as they are, and why."),
    ]


# -- the head


def _title(end: str, report: Report | None) -> str:
    target = "" if report is None or report.target_opset is None else f" to opset {report.target_opset}"
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
    return f'<p class="message">{_lines(text)}</p><p class="lead">Nothing was written.</p>'


def _tiles(report: Report) -> str:
    rules = report.applied
    changed = len(report.rewrites)
    tiles = [
        ("Opset", _step(report.source_opset, report.target_opset), ""),
        ("IR version", _step(report.source_ir_version, report.ir_version), ""),
        ("Nodes", *_node_counts(report)),
        ("Rewritten", f"{changed:,}", f"by {len(rules)} rule{'s' * (len(rules) != 1)}" if changed else "no node had to change"),
    ]
    if report.growth:
        name, before, after = report.growth[0]
        tiles.append(("Grew most", _text(name), f"{before:,} → {after:,} node{'s' * (after != 1)}"))
    if report.checked:
        tiles.append(("Check", "passed", _text(report.checked)))
        tiles.append(("Comparison", *_verdict(report.comparison)))
    cells = "".join(f"<div><dt>{label}</dt><dd>{value}<small>{small}</small></dd></div>" for label, value, small in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _node_counts(report: Report) -> tuple[str, str]:
    before, after = sum(report.operators_before.values()), sum(report.operators_after.values())
    kinds = len(report.operators_before), len(report.operators_after)
    if not report.checked:
        return f"{before:,}", f"{kinds[0]} operator{'s' * (kinds[0] != 1)}"
    return _step(before, after), f"{_step(*kinds)} operator{'s' * (kinds[1] != 1)}"


def _verdict(comparison: Comparison | None) -> tuple[str, str]:
    if comparison is None:
        return "off", ""
    exact = comparison.rtol == comparison.atol == 0
    how = "node by node" if comparison.pieces else "exact, on what was tried" if exact else "within tolerance"
    if comparison.status != "equal" or not comparison.runtime:
        how = "see the warning" if comparison.status != "equal" else "nothing changed"
    return _text(comparison.status), how


def _step(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        return "none"
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"


def _contents(sections: Sequence[_Section]) -> str:
    links = "".join(f'<a href="#{section.label}">{section.title}</a>' for section in sections)
    return f'<nav aria-label="Contents">{links}</nav>' if len(sections) > 1 else ""


def _facts(source: ModelFile, destination: ModelFile | None, exit_status: int) -> str:
    rows = [("Input", _file(source))]
    if destination is not None:
        rows.append(("Output", _file(destination)))
    rows.append(("Versions", f"split-rewrite {_text(version('split-rewrite'))}, onnx {_text(onnx.__version__)}"))
    rows.append(("Exit status", str(exit_status)))
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{value}</dd>' for label, value in rows)}</dl>"


def _file(model: ModelFile) -> str:
    facts = file_facts(model)
    if facts["sha256"] is None:
        return f"{_name(model.name)}, cannot be read"
    return f'{_name(model.name)}, {facts["bytes"]:,} bytes, SHA-256 <span class="mono">{facts["sha256"]}</span>'


# -- sections


def _blockers(blockers: Iterable[Blocker]) -> str:
    rows = [_blocker_row(group) for group in alike(blockers)]
    return _table("What the target cannot express", ("Operator", "Nodes#", "Step", "Reason", "Where"), rows)


def _blocker_row(group: Sequence[Blocker]) -> _Cells:
    first = group[0]
    hint = f'<span class="hint">Hint: {_text(first.hint, 600)}</span>' if first.hint else ""
    reason = _text(first.reason, 600) + hint
    names = [(blocker.node, blocker.where) for blocker in group]
    return _text(first.op_type), f"{len(group):,}", _text(first.transition), reason, _places(names)


def _reach(report: Report, reach: Reach) -> str:
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
    return f'{scale}<p class="note">{text}</p>{_table("What stops it there", headers, rows)}'


def _remarks(remarks: Iterable[Remark], header: str) -> str:
    groups: dict[tuple[str, str], list[Remark]] = {}
    for remark in remarks:
        groups.setdefault((remark.op_type, remark.message), []).append(remark)
    rows = [
        (_text(op_type), f"{len(group):,}", _text(message, 600), _places([(r.node, r.where) for r in group]))
        for (op_type, message), group in groups.items()
    ]
    return _table(f"{header} by operator", ("Operator", "Nodes#", header, "Where"), rows)


def _of_the_result(report: Report) -> str:
    """The warnings that are about the result as a whole, not about a single node."""
    loading = f"<p>{_text(report.not_loaded)}</p>" if report.not_loaded else ""
    return loading + _not_compared(report.comparison)


def _not_compared(comparison: Comparison | None) -> str:
    if comparison is None or (comparison.status == "equal" and not comparison.refused):
        return ""
    ways = {"equal": "is equal in another runtime alone", "partly compared": "was compared in part"}
    how = ways.get(comparison.status, "was not compared")
    return f"<p>The result {how}: {_text(comparison.reason, 1000)}</p>"


def _changes(report: Report) -> str:
    if not report.rewrites:
        return "" if report.blockers else "<p>No node had to change.</p>"
    found = distinct_rewrites(report.rewrites)
    cards: list[str] = []
    drawings = drawn = written = 0
    for number, rewrite in enumerate(found[:MAX_SHOWN]):
        if written > MAX_WRITTEN:
            break
        picture = _not_drawn(rewrite, drawings, drawn)
        if not picture:
            picture = panels(rewrite, f"g{number}")
            drawings += 1
            drawn += len(picture)
        words = _words(rewrite)
        written += len(words)
        cards.append(_card(rewrite, picture, words))
    rest = len(found) - len(cards)
    more = f'<p class="note">And {rest:,} more distinct rewrites; the JSON report has them all.</p>' if rest else ""
    return "".join(cards) + more


def _not_drawn(rewrite: DistinctRewrite, drawings: int, drawn: int) -> str:
    """Why this rewrite is not drawn on a page with `drawings` drawings of `drawn` characters so far; "" where it is."""
    nodes = max(len(rewrite.before), len(rewrite.after))
    if nodes > MAX_NODES:
        return f'<p class="note">Not drawn: it has {nodes:,} nodes, and a picture of more than {MAX_NODES} shows nothing.</p>'
    if drawings >= MAX_DRAWINGS or drawn >= MAX_DRAWN:
        return f'<p class="note">Not drawn, to keep the page small: the {drawings} rewrites before it are.</p>'
    return ""


def _card(rewrite: DistinctRewrite, picture: str, words: str) -> str:
    change = f"{_summary(rewrite.before)} → {_summary(rewrite.after) or 'nothing'}"
    times = "once" if rewrite.count == 1 else f"{rewrite.count:,} times"
    if len(rewrite.variants) > 1:
        times += f" with {len(rewrite.variants):,} choices of attributes, one of them shown"
    added = "" if rewrite.added == 0 else f"{_signed(rewrite.added)} node{'s' * (abs(rewrite.added) != 1)}, "
    return (
        f'<article class="card"><div class="top"><h3>{_text(change)}</h3><span class="count">{added}{times}, '
        f"first in the {_text(rewrite.scope.where)}</span></div>{picture}{words}</article>"
    )


def _summary(nodes: Sequence[NodeProto]) -> str:
    """The operators of `nodes`, as "Split ×2, Concat"."""
    counts: dict[str, int] = {}
    for node in nodes:
        if node.op_type != "Constant" or len(nodes) == 1:
            counts[node.op_type] = counts.get(node.op_type, 0) + 1
    shown = [name if count == 1 else f"{name} ×{count:,}" for name, count in counts.items()]
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "")


def panels(rewrite: DistinctRewrite, label: str) -> str:
    """The rewrite, drawn before and after, as HTML. `label` is the prefix of its ids, which have to be unique on the page."""
    before, after = Values(rewrite.scope, rewrite.constants, {}), Values(rewrite.scope, rewrite.constants, rewrite.renamed)
    sides = (("before", rewrite.before, before), ("after", rewrite.after, after))
    drawings = [(side, nodes, draw(nodes, values, _side_title(side, nodes), f"{label}{side}")) for side, nodes, values in sides]
    fit = all(drawing.width <= HALF_WIDTH for _, _, drawing in drawings)
    figures = "".join(
        _panel(side, _scrolled(side, nodes, drawing.svg) if nodes else _gone(rewrite)) for side, nodes, drawing in drawings
    )
    return f'<div class="panels{"" if fit else " stacked"}">{figures}</div>'


def _side_title(side: str, nodes: Sequence[NodeProto]) -> str:
    return f"{side.capitalize()}: {_summary(nodes)}"


def _panel(side: str, body: str) -> str:
    return f'<figure class="{side}"><figcaption>{side.capitalize()}</figcaption>{body}</figure>'


def _scrolled(side: str, nodes: Sequence[NodeProto], svg: str) -> str:
    label = _text(_side_title(side, nodes))
    size = " large" if len(nodes) > LARGE else ""
    return f'<div class="scroll{size}" tabindex="0" role="group" aria-label="{label}">{svg}</div>'


def _gone(rewrite: DistinctRewrite) -> str:
    now = ", ".join(map(_name, list(rewrite.renamed)[:MAX_NAMES]))
    text = f"No node: what read the outputs reads {now} now." if now else "No node: nothing reads the outputs any more."
    return f'<p class="nothing">{text}</p>'


def _words(rewrite: DistinctRewrite) -> str:
    """The rewrite as text, and the places where it occurs."""
    before, after = map(_listing, (rewrite.before, rewrite.after))
    places = "".join(f"<li>{_text(op_type)} {_name(name)} ({_text(where)})</li>" for op_type, name, where in rewrite.places)
    rest = rewrite.count * len(rewrite.before) - len(rewrite.places)
    more = f'<p class="note">and {rest:,} more</p>' if rest > 0 else ""
    return (
        f"<details><summary>As text, and where</summary><pre>{_lines(before)}</pre><p>becomes</p>"
        f'<pre>{_lines(after) or "nothing"}</pre><ul class="names">{places}</ul>{more}</details>'
    )


def _listing(nodes: Sequence[NodeProto]) -> str:
    more = [f"… and {len(nodes) - MAX_LINES:,} more nodes; the JSON report has them all"] if len(nodes) > MAX_LINES else []
    return "\n".join([*map(_node_words, nodes[:MAX_LINES]), *more])


def _node_words(node: NodeProto) -> str:
    return node_line(node) if any(True for _ in subgraphs(node)) else node_text(node)


def _operators(report: Report) -> str:
    before, after = report.operators_before, report.operators_after
    if not report.checked:
        rows = [(_text(name), f"{count:,}") for name, count in sorted(before.items())]
        return _folded(f"The {len(rows)} operators of the model", _table("Operators", ("Operator", "Nodes#"), rows))
    headers = ("Operator", "Before#", "After#", "Change#")
    changed = [(_text(name), f"{b:,}", f"{a:,}", _signed(a - b)) for name, (b, a) in report.changed_operators.items()]
    same = [(_text(name), f"{count:,}") for name, count in sorted(before.items()) if after[name] == count]
    body = _table("Operators whose number changed", headers, changed) or '<p class="note">No operator changed in number.</p>'
    unchanged = _table("Operators whose number stayed", ("Operator", "Nodes#"), same)
    return body + (_folded(f"{len(same)} operators as many as before", unchanged) if same else "")


def _rules(report: Report) -> str:
    summaries = {rule.name: rule.summary for rule in registry}
    rows: list[_Cells] = []
    for name, count in report.applied.most_common():
        summary = summaries.get(name) or MECHANISMS.get(name.partition(".")[0], "")
        exact = "the last bits may differ" if name in report.inexact else "exact"
        tag = f'<span class="tag {"note" if name in report.inexact else "good"}">{exact}</span>'
        rows.append((f"<code>{_breakable(name)}</code>", f"{count:,}", _text(summary), tag))
    return _table("Rules that changed nodes", ("Rule", "Nodes#", "What it does", "Result"), rows)


def _comparison(comparison: Comparison) -> str:
    status = {"equal": "Equal", "partly compared": "Compared in part", "not compared": "Not compared"}
    label = status.get(comparison.status, comparison.status)
    kind = "good" if comparison.status == "equal" else "note"
    reason = f' <span class="note">{_text(comparison.reason, 1000)}</span>' if comparison.reason else ""
    run = f" Run on the same inputs by {_text(comparison.runtime)}; seed of the random ones: {comparison.seed}."
    head = f'<p><span class="tag {kind}">{label}</span>{run if comparison.runtime else ""}{reason}</p>'
    outputs = [
        (_name(o.name), _text(o.dtype), _shape(o.shape), *(f"{x:g}" for x in (o.max_abs, o.max_rel, o.rtol, o.atol)))
        for o in comparison.outputs
    ]
    pieces = [
        (_text(p.change), f"{p.count:,}", _text(p.example), _tag(p.status), f"{p.max_abs:g}", _text(p.reason, 400))
        for p in comparison.pieces
    ]
    return (
        head
        + _table(
            "The outputs: the largest differences, and what was allowed",
            ("Output", "Type", "Shape", "Absolute#", "Relative#", "rtol#", "atol#"),
            outputs,
        )
        + _table(
            "Changes of nodes that were run, old against new",
            ("Change", "Nodes#", "Example", "Verdict", "Difference#", "Reason"),
            pieces,
        )
    )


def _shape(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape[:16])) or "scalar"


def _tag(status: str) -> str:
    kind = {"equal": "good", "different": "bad"}.get(status, "note")
    return f'<span class="tag {kind}">{_text(status)}</span>'


# -- parts


def _table(caption: str, headers: Sequence[str], rows: Sequence[_Cells]) -> str:
    """A table as HTML; "" where it has no rows. A header that ends with # is for a column of numbers; cells are HTML."""
    if not rows:
        return ""
    kinds = ["number" if header.endswith("#") else "text" if header in _LONG else "" for header in headers]
    titles = zip(headers, kinds, strict=True)
    head = "".join(f'<th scope="col"{_class(kind)}>{escape(header.rstrip("#"))}</th>' for header, kind in titles)
    body = "".join(f"<tr>{''.join(_cells(row, kinds))}</tr>" for row in rows[:MAX_ROWS])
    rest = len(rows) - MAX_ROWS
    more = f'<p class="note">And {rest:,} more rows; the JSON report has them all.</p>' if rest > 0 else ""
    label = escape(caption)
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{label}"><table aria-label="{label}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


_LONG = frozenset({"Reason", "Where", "What it does", "Warning", "Why"})
"""The headers of columns that contain long text."""


def _cells(row: _Cells, kinds: Sequence[str]) -> Iterator[str]:
    yield f'<th scope="row"{_class(kinds[0])}>{row[0]}</th>'
    for cell, kind in zip(row[1:], kinds[1:], strict=True):
        yield f"<td{_class(kind)}>{cell}</td>"


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _folded(summary: str, body: str) -> str:
    return f'<details class="plain"><summary>{escape(summary)}</summary>{body}</details>'


def _places(places: Sequence[tuple[str, str]]) -> str:
    """Nodes and their graphs as HTML; only graphs other than the main graph are named."""
    shown = [_name(node) + ("" if where == "main graph" else f" ({_text(where)})") for node, where in places[:MAX_NAMES]]
    rest = len(places) - len(shown)
    return ", ".join(shown) + (f", and {rest:,} more" if rest else "")


def _text(text: str, longest: int = 200) -> str:
    return escape(visible(text, longest))


def _signed(number: int) -> str:
    return f"{number:+,}".replace("-", "−")


def _breakable(name: str) -> str:
    return _text(name).replace(".", ".<wbr>").replace("_", "_<wbr>")


def _lines(text: str) -> str:
    return "\n".join(_text(line, 2100) for line in text.split("\n"))


def _name(name: str) -> str:
    """A name from the model, or a path, as HTML, with its own writing direction."""
    return f"<code><bdi>{_text(name)}</bdi></code>"
