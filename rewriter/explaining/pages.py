"""An explanation as lines for a terminal, and all known messages as a page of the documentation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ..report.summary import aligned
from ..runtimes.known_messages import Known, known_messages
from .explaining import Explanation

UNKNOWN = (
    "no message that split-rewrite knows is in this text. Give the whole log; or try",
    "  split-rewrite inspect model.onnx                              what the model is, and which runtimes take it",
    "  split-rewrite --for RUNTIME model.onnx out.onnx               a model that this runtime takes (--list-runtimes)",
    "  split-rewrite --verify-with RUNTIME model.onnx out.onnx       where the installed runtime fails",
)
_HEAD = """\
# My runtime says …

Error messages of runtimes, converters and exporters, word for word, what they mean, and the command that helps. `…` and names in
capitals stand for what varies. The program itself explains a message or a whole log; with the model, it tries the command first:

```console
$ split-rewrite explain "Unsupported model IR version: 10, max supported IR version: 9"
$ python run_my_model.py 2>&1 | split-rewrite explain - model.onnx
```

This page is `rewriter/runtimes/messages.toml`, written by
`python -m split_rewrite.rewriter.explaining.pages docs/runtime_messages.md`.
"""


def as_lines(found: Explanation) -> Iterator[str]:
    """The explanation as lines: who said it, what it means, the command that helps, and what it rests on."""
    rows = [("said by", " or ".join(found.tools)), ("line", f"{found.number}: {found.line}"), ("means", found.means)]
    rows += [("at" if not number else "", node) for number, node in enumerate(found.nodes)]
    best = found.remedy
    if best is not None:
        rows.append(("helps", best.command(found.model) + (" (tried in a dry run)" if best.works else "")))
    rows += [("does not help", f"{one.command(found.model)}: {one.refusal}") for one in found.remedies if one.works is False]
    rows += [("also" if best else "helps", found.advice)] if found.advice else []
    rows += [("known from", found.evidence + (f" ({found.source})" if found.source else ""))]
    rows += [("further" if not number else "", other) for number, other in enumerate(found.others)]
    yield from aligned(rows)


def messages_page() -> str:
    """The page of all known messages, by the section of the file, in Markdown."""
    lines = [_HEAD]
    by_tool: dict[str, list[Known]] = {}
    for known in known_messages():
        by_tool.setdefault(known.by[0], []).append(known)
    for tool in sorted(by_tool):
        lines += [f"## {tool}", "", "| message | means | helps |", "|---|---|---|"]
        lines += [f"| `{_words(known)}` | {_cell(_varying(known.means))} | {_helps(known)} |" for known in by_tool[tool]]
        lines.append("")
    return "\n".join(lines)


def _words(known: Known) -> str:
    return _cell(_varying(known.says)).replace("`", "'")


def _helps(known: Known) -> str:
    commands = [f"`{' '.join(filter(None, ('split-rewrite', options, 'model.onnx out.onnx')))}`" for options in known.tries[:1]]
    return _cell("; ".join(filter(None, (*map(_varying, commands), known.advice))))


def _varying(text: str) -> str:
    """The text with names in capitals in place of what varies."""
    numbers = ("opset", "limit", "target", "ir", "ir_max", "before", "without", "below", "first", "release", "asked", "last")
    for name in (*numbers, "op"):
        text = text.replace(f"{{{name}}}", name.upper())
    return text.replace("{", "").replace("}", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(messages_page(), encoding="utf-8")
