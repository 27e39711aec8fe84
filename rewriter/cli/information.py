"""The options that print something and end the program: --list-rules, --list-runtimes and --version."""

from __future__ import annotations

from contextlib import suppress

import click

from .terminal import PROGRAM, say


def list_rules(context: click.Context, _: click.Parameter, word: str | None) -> None:
    """Print the rules that contain `word`, or all where it is empty."""
    if word is None or context.resilient_parsing:
        return
    from ... import rules as _rules  # noqa: F401 - importing the rules registers them
    from ..engine.registry import registry
    from ..engine.selection import MECHANISMS
    from ..report.summary import rule_table
    from ..suggestions import did_you_mean

    lines = rule_table(registry, MECHANISMS).splitlines()
    found = [line for line in lines if word.casefold() in line.casefold()]
    if not found:
        names = {name for rule in registry for name in (rule.name, rule.name.partition(".")[0], rule.op_type)}
        raise click.UsageError(f"--list-rules {word}: no rule has this in its line{did_you_mean(word, sorted(names))}")
    say("\n".join(found))
    context.exit()


def list_runtimes(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Print what is known about the runtime `name`, or an overview where it is empty."""
    if name is None or context.resilient_parsing:
        return
    from ..runtimes.listing import about, overview

    say(about(name) if name else overview())
    context.exit()


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the versions of the program, of onnx, and of onnxruntime, by which results are compared, if it is installed."""
    if not wanted or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    others = [f"onnx {version('onnx')}"]
    with suppress(PackageNotFoundError):
        others.append(f"onnxruntime {version('onnxruntime')}")
    say(f"{PROGRAM} {version(PROGRAM)} ({', '.join(others)})")
    context.exit()
