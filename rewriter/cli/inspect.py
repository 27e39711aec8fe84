"""The subcommand `inspect`, which says what a model is, or how two models differ."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..report.formats import STREAM
from .run import readable_input
from .terminal import PROGRAM, lean_imports, one_line, say

INSPECT = "inspect"
"""The first argument that starts the subcommand `inspect`. A model of this name has to be written ./inspect."""
_INSPECT_HELP = """Say what MODEL is, how far it can be converted, and which runtimes take it.

Nothing is run and nothing is written. With two models, say what is different between them: nodes with one name are the
same node.
"""
_SUFFIXES = (".json", ".html")


@click.command(
    f"{PROGRAM} {INSPECT}",
    help=_INSPECT_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("model", metavar="MODEL")
@click.argument("other", metavar="[OTHER]", required=False)
@click.option(
    "--report",
    multiple=True,
    metavar="FILE.json|FILE.html|-",
    help="Also write a report; - for JSON on standard output. Repeatable.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show where an unexpected error is from.")
def inspect(model: str, other: str | None, report: Sequence[str], verbose: bool) -> None:
    if wrong := [path for path in report if path != STREAM and not path.endswith(_SUFFIXES)]:
        raise click.UsageError(f"--report {wrong[0]}: its name has to end with .json or .html.")
    _check_apart([path for path in (model, other) if path and path != STREAM], report)
    with lean_imports():
        from ..inspection import pages

    if other is None:
        with readable_input(model) as file:
            from ..inspection.inspecting import inspect_model

            found = inspect_model(file)
        lines, as_json, as_page = pages.as_text(found), pages.as_json(model, found), pages.as_page(model, found)
    else:
        from ..inspection.difference import differences

        between = differences(model, other)
        lines = pages.differences_as_text(between)
        as_json, as_page = pages.differences_as_json(model, other, between), pages.differences_as_page(model, other, between)
    for path in report:
        _write(path, as_json if path == STREAM or path.endswith(".json") else as_page)
    for line in () if STREAM in report else lines:
        say(one_line(line))


def _check_apart(models: Sequence[str], reports: Sequence[str]) -> None:
    """Raises PathConflictError where a report would replace a model."""
    from ..storage import INPUT, REPORT, NamedFile, check_apart, check_destinations

    files = [*(NamedFile(INPUT, path) for path in models), *(NamedFile(REPORT, path) for path in reports if path != STREAM)]
    check_apart(files)
    check_destinations(files)


def _write(path: str, text: str) -> None:
    from ..storage import write_text

    if path == STREAM:
        say(text)
    else:
        write_text(f"{text}\n", path)
