"""Writes the documentation pages of runtimes, `docs/runtimes/NAME.md`, from the profiles:

python -m split_rewrite.rewriter.runtimes.pages docs/runtimes
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .listing import EFFECTS, alike, allowed_of, forms, inside, needs, not_taken, of_operators, opsets, shown_ir
from .profiles import ReleaseFacts, Runtime, known_runtimes, shown_range


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file, including `index.md`, which lists the pages."""
    runtimes = known_runtimes()
    texts = {f"{name}.md": "\n".join(_page(runtime)) + "\n" for name, runtime in runtimes.items()}
    return {"index.md": "\n".join(_index(runtimes.values())) + "\n", **texts}


def _index(runtimes: Iterable[Runtime]) -> Iterator[str]:
    yield "# Runtimes\n"
    yield "What is known about each runtime, for [`--for`](../runtimes.md). These pages are generated from the profiles:\n"
    yield "    python -m split_rewrite.rewriter.runtimes.pages docs/runtimes\n"
    yield from _table(
        ("runtime", "releases", "quirks", "evidence"),
        [
            (
                f"[{runtime.title}]({runtime.name}.md)",
                _all_releases(runtime),
                str(len({quirk.form for quirk in runtime.quirks})),
                _known_by(runtime),
            )
            for runtime in runtimes
        ],
    )


def _all_releases(runtime: Runtime) -> str:
    return ", ".join(shown_range(facts.releases) for facts in runtime.releases)


def _known_by(runtime: Runtime) -> str:
    found = {_kind(facts.evidence) for facts in runtime.releases}
    return ", ".join(kind for kind in ("tried", "by source", "by documentation") if kind in found)


def _kind(evidence: str) -> str:
    return "by source" if "source" in evidence else "by documentation" if evidence.startswith("by documentation") else "tried"


def _page(runtime: Runtime) -> Iterator[str]:
    newest = runtime.releases[-1]
    release = shown_range(newest.releases).rpartition(" ")[2]
    yield f"# {runtime.title}\n"
    yield f"`split-rewrite --for {runtime.name}-{release} model.onnx out.onnx`; [how that works](../runtimes.md).\n"
    yield from _names(runtime)
    yield "## What it supports\n"
    yield from _table(
        ("releases", "opsets", "IR version", "evidence", "source"),
        [(shown_range(f.releases), opsets(f).removeprefix("opsets "), shown_ir(f), f.evidence, f.source) for f in runtime.releases],
    )
    for facts in runtime.releases:
        yield from _notes(facts)
    yield "## What it needs of the model\n"
    needed = [re.sub(r"--[\w-]+", r"`\g<0>`", f"- {need}") for need in needs(runtime)]
    yield from needed or ["Nothing is known beside the tables; whether it takes open shapes is stated nowhere."]
    yield ""
    yield "## Quirks, and what `--for` does about them\n"
    if not runtime.quirks:
        yield "None are known."
        return
    instead = forms()
    yield from _table(
        ("form", "releases", "in the runtime", "with `--for`", "evidence"),
        [
            (quirk.form + of_operators(quirk), where, EFFECTS[quirk.effect], instead[quirk.form], quirk.evidence)
            for quirk, where in alike(runtime)
        ],
    )


def _names(runtime: Runtime) -> Iterator[str]:
    """How users call the runtime, and what has it inside."""
    yield "## Names\n"
    shown = ", ".join(f"`{name}`" for name in (runtime.name, *runtime.also))
    yield f"{shown}, in any case, with a release behind a hyphen, a space or `==`, or without one.\n"
    if runtime.chips:
        yield f"Chips, without a release: {', '.join(f'`{name}`' for name in runtime.chips)}.\n"
    for alias, meant in runtime.aliases.items():
        yield f"`--for {alias}` is `--for {runtime.name}-{meant}`.\n"
    for product in runtime.products:
        names = ", ".join(f"`{name}`" for name in product.names)
        yield f"{names}: {product.title} {inside(product)}. Source: {product.source}.\n"


def _notes(facts: ReleaseFacts) -> Iterator[str]:
    if facts.notes:
        yield f"{shown_range(facts.releases)}: {facts.notes}.\n"
    if facts.allowed is not None:
        yield f"{shown_range(facts.releases)}: {allowed_of(facts.allowed)}.\n".replace("*", "\\*")
    if refused := not_taken(facts):
        yield f"{shown_range(facts.releases)} does not support {', '.join(refused)}.\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
