"""Decides whether a command line is about many models, which models these are, and where the results go."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from ..batch.paths import is_folder, is_for_many
from ..report.formats import files_in

_OF_MANY = ("in_place", "jobs", "timeout", "memory", "resume", "scheduler")
"""The options that belong to runs of many models. With one of them, even a single model is converted as such a run."""


def inputs_of_many(paths: Sequence[str], given: dict[str, Any]) -> tuple[Sequence[str], str | None] | None:
    """The inputs, and the folder for the results; None where the command line is about one model. Raises click.UsageError."""
    output, writes_elsewhere = given["output"], not (given["dry_run"] or given["in_place"])
    if output is not None or not writes_elsewhere:
        inputs, into = paths, output
    else:
        inputs, into = (paths[:-1], paths[-1]) if len(paths) > 1 else (paths, None)
    is_asked = any(given[name] for name in _OF_MANY) or bool(files_in(given["report"], lambda format: format.is_for_many_alone))
    is_many = len(inputs) != 1 or is_asked or is_for_many(inputs, into)
    if not is_many or (not is_asked and len(paths) == 2 and _names_output_wrongly(paths[1], given)):
        return None
    if given["in_place"] and given["no_clobber"]:
        raise click.UsageError("--in-place replaces files, and --no-clobber forbids that.")
    if given["in_place"] and (output is not None or given["dry_run"]):
        raise click.UsageError("--in-place writes where the models are: leave -o and --dry-run out.")
    if given["dry_run"] and output is not None:
        raise click.UsageError("--dry-run writes nothing: leave OUTPUT out.")
    if writes_elsewhere and not into:
        raise click.UsageError("Missing argument 'OUTPUT': name the folder to write to, or say --in-place.")
    return inputs, into


def _names_output_wrongly(path: str, given: dict[str, Any]) -> bool:
    """Whether the second of two paths looks like an output although -o names one already, or although --dry-run writes nothing."""
    if given["output"] is not None:
        return not is_folder(given["output"])
    return given["dry_run"] and not (os.path.lexists(path) or is_for_many([path], None))
