"""The subcommand `probe`, which tries an installed runtime and prints its profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .run import progress_bar
from .terminal import PROGRAM, one_line, say

if TYPE_CHECKING:
    from ..storage import NamedFile

PROBE = "probe"
"""The first argument that starts the subcommand `probe`. A model of this name has to be written ./probe."""
_PROBE_HELP = """Find out what RUNTIME supports, and what it computes wrongly.

RUNTIME is onnxruntime, openvino, opencv, mnn, ncnn, tract or tinygrad, installed here or in the environment of --python.
About two hundred models of a few nodes are run, each in a child process. The result is printed as a profile, which --for
accepts.
"""


@click.command(
    f"{PROGRAM} {PROBE}",
    help=_PROBE_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("runtime", metavar="RUNTIME", required=False)
@click.option("--adapter", metavar="MODULE:CLASS", help="A class of your own that runs models; see docs/runtimes.md.")
@click.option(
    "--python",
    "interpreter",
    metavar="FILE",
    help="The Python interpreter of the environment in which the runtime is installed; default: this one.",
)
@click.option("-o", "--output", metavar="FILE.toml", help="Write the profile to this file instead of printing it.")
@click.option("-v", "--verbose", is_flag=True, help="Print the outcome of each model.")
def probe(runtime: str | None, adapter: str | None, interpreter: str | None, output: str | None, verbose: bool) -> None:
    if (runtime is None) == (adapter is None):
        raise click.UsageError("name a RUNTIME, or --adapter MODULE:CLASS.")
    from ..execution.other_runtimes import Target
    from ..report.summary import aligned
    from ..runtimes.probing import as_table, as_toml, probe_runtime
    from ..storage import check_apart, check_destinations, write_text

    name = runtime or str(adapter)
    files = _files_of_probe(name, interpreter, output)
    check_apart(files)
    check_destinations(files)
    with progress_bar(hidden=False):
        findings = probe_runtime(Target(name, interpreter or sys.executable))
    for line in aligned(as_table(findings)) if verbose else ():
        say(one_line(line))
    text = as_toml(name, findings)
    if output is None:
        say(text, sys.stdout)
        return
    write_text(text, output)


def _files_of_probe(name: str, interpreter: str | None, output: str | None) -> list[NamedFile]:
    """The files that a probe reads and writes."""
    from ..conversion.options import files_of_adapter
    from ..storage import OUTPUT, NamedFile, standard_output

    written = [] if output is None else [NamedFile(OUTPUT, output)]
    return [*files_of_adapter(name, interpreter or ""), *written, *standard_output()]
