"""The subcommand `explain`, which says what an error message of a runtime means, and which command helps."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import click

from ..errors import ArgumentError
from .run import readable_input
from .terminal import PROGRAM, one_line, say

EXPLAIN = "explain"
"""The first argument that starts the subcommand `explain`. A model of this name has to be written ./explain."""
NOT_KNOWN = 1
"""The exit status where no message is known."""
_EXPLAIN_HELP = """Say what an error message of a runtime, converter or exporter means, and which command helps.

MESSAGE is the message itself, a file with a log, or - for standard input. With MODEL, the command is tried in a dry run before it
is shown, and the nodes that are meant are named. Nothing is written. The exit status is 1 where no known message is found.
"""


@click.command(
    f"{PROGRAM} {EXPLAIN}",
    help=_EXPLAIN_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("message", metavar="MESSAGE|LOG|-")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Show where an unexpected error is from.")
def explain(message: str, model: str | None, as_json: bool, verbose: bool) -> None:
    text = _text_of(message)
    from ..explaining import pages
    from ..explaining.explaining import explain as explained

    if model is None:
        found = explained(text)
    else:
        with readable_input(model) as file:
            found = explained(text, file)
        found = found and replace(found, model=model)
    if found is None:
        for line in pages.UNKNOWN:
            say(line, sys.stderr)
        raise click.exceptions.Exit(NOT_KNOWN)
    lines = [json.dumps(found.to_dict(), indent=2, ensure_ascii=False)] if as_json else map(one_line, pages.as_lines(found))
    for line in lines:
        say(line)


_FILE_NAME = re.compile(r"\S+\.(txt|log|out|err|onnx)")
"""A word that no message consists of, and a file may be called."""


def _text_of(message: str) -> str:
    """The text to explain: what stands in the file of that name or on standard input, or `message` itself."""
    if message == "-":
        return sys.stdin.read()
    path = Path(message)
    try:
        is_file = path.is_file()
    except OSError:  # a long message is not the name of a file
        is_file = False
    if is_file:
        return path.read_text(encoding="utf-8", errors="replace")
    if _FILE_NAME.fullmatch(message):
        raise ArgumentError(f"{message}: there is no such file")
    return message
