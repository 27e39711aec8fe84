"""The section of the page that shows each distinct rewrite: a drawing before and after, and both as text.

What it shows is limited (`MAX_…`), so that the page stays small for any model; the JSON report has everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..onnx_model.protos import subgraphs
from .distinct_rewrites import DistinctRewrite, distinct_rewrites
from .drawing import LARGE, MAX_NODES, Values, draw, node_line
from .page_parts import MAX_NAMES, html_lines, html_name, html_text, signed
from .rewritten import node_text

if TYPE_CHECKING:
    from onnx import NodeProto

    from .finished import Finished

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
MAX_LINES = 40
"""The number of nodes of one rewrite that are written as text."""


def changes(finished: Finished) -> str:
    if not finished.rewrites:
        return "" if finished.blockers else "<p>No node had to change.</p>"
    found = distinct_rewrites(finished.rewrites)
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
    added = "" if rewrite.added == 0 else f"{signed(rewrite.added)} node{'s' * (abs(rewrite.added) != 1)}, "
    return (
        f'<article class="card"><div class="top"><h3>{html_text(change)}</h3><span class="count">{added}{times}, '
        f"first in the {html_text(rewrite.scope.where)}</span></div>{picture}{words}</article>"
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
    label = html_text(_side_title(side, nodes))
    size = " large" if len(nodes) > LARGE else ""
    return f'<div class="scroll{size}" tabindex="0" role="group" aria-label="{label}">{svg}</div>'


def _gone(rewrite: DistinctRewrite) -> str:
    now = ", ".join(map(html_name, list(rewrite.renamed)[:MAX_NAMES]))
    text = f"No node: what read the outputs reads {now} now." if now else "No node: nothing reads the outputs any more."
    return f'<p class="nothing">{text}</p>'


def _words(rewrite: DistinctRewrite) -> str:
    """The rewrite as text, and the places where it occurs."""
    before, after = map(_listing, (rewrite.before, rewrite.after))
    places = "".join(
        f"<li>{html_text(op_type)} {html_name(name)} ({html_text(where)})</li>" for op_type, name, where in rewrite.places
    )
    rest = rewrite.count * len(rewrite.before) - len(rewrite.places)
    more = f'<p class="note">and {rest:,} more</p>' if rest > 0 else ""
    return (
        f"<details><summary>As text, and where</summary><pre>{html_lines(before)}</pre><p>becomes</p>"
        f'<pre>{html_lines(after) or "nothing"}</pre><ul class="names">{places}</ul>{more}</details>'
    )


def _listing(nodes: Sequence[NodeProto]) -> str:
    more = [f"… and {len(nodes) - MAX_LINES:,} more nodes; the JSON report has them all"] if len(nodes) > MAX_LINES else []
    return "\n".join([*map(_node_words, nodes[:MAX_LINES]), *more])


def _node_words(node: NodeProto) -> str:
    return node_line(node) if any(True for _ in subgraphs(node)) else node_text(node)
