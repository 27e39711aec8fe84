"""Defaults for options from the table [tool.split-rewrite] of the nearest pyproject.toml."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..errors import ArgumentError
from ..suggestions import did_you_mean

_NAME = "pyproject.toml"
_TABLE = "split-rewrite"
_MARK = b"split-rewrite"
"""The file is parsed only if it contains this, because that takes as long as a tenth of a start."""
_ONLY_ON_THE_COMMAND_LINE = frozenset(
    {
        "custom_ops",
        "dry_run",
        "help",
        "in_place",
        "input_data",
        "list_rules",
        "list_runtimes",
        "output",
        "python",
        "report",
        "resume",
        "scheduler",
        "short_help",
        "text",
        "version",
    }
)
"""The options that belong to one run, or that name a program to run."""


class Defaults(NamedTuple):
    """The defaults of the project: values by the parameters' names, and the file that they are from."""

    values: Mapping[str, Any]
    file: str = ""


def project_defaults(command: click.Command, folder: str) -> Defaults:
    """The defaults for the options of `command` in the nearest pyproject.toml at or above `folder` that has any.

    Raises: ArgumentError where the table has options that do not exist, or cannot be given there.
    """
    for path in _files(folder):
        table = _table(path)
        if table is not None:
            return Defaults(_values(command, table, path), str(path))
    return Defaults({})


def _files(folder: str) -> Iterator[Path]:
    here = Path(folder).absolute()
    yield from (path for above in (here, *here.parents) if (path := above / _NAME).is_file())


def _table(path: Path) -> Mapping[str, Any] | None:
    """The table in the file at `path`; None where it has none. A file that belongs to other tools alone may be anything."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if _MARK not in content:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found]
    try:
        tool = tomllib.loads(content.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} is not valid TOML: {error}") from None
    table = tool.get(_TABLE) if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ArgumentError(f"{path}: [tool.split-rewrite] has to be a table of options")
    return table


def _values(command: click.Command, table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    options = {name.lstrip("-"): option for option in command.params if isinstance(option, click.Option) for name in option.opts}
    found: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{path}: [tool.split-rewrite] {key}"
        option = options.get(key)
        if option is None or len(key) == 1:
            raise ArgumentError(f"{where}: there is no such option{did_you_mean(key, [name for name in options if len(name) > 1])}")
        assert option.name is not None
        if option.name in _ONLY_ON_THE_COMMAND_LINE:
            raise ArgumentError(f"{where}: this option can only be given on the command line")
        found[option.name] = _value(option, value, where, path.parent)
    return found


def _value(option: click.Option, value: Any, where: str, folder: Path) -> Any:
    """`value` as click takes it: a bool for a flag, else text, or a list of texts for an option that can be repeated."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ArgumentError(f"{where} has to be true or false")
        return value
    entries = value if isinstance(value, list) and option.multiple else [value]
    if not all(isinstance(entry, str | int | float) and not isinstance(entry, bool) for entry in entries):
        raise ArgumentError(f"{where} has to be text or a number{', or a list of these' if option.multiple else ''}")
    texts = [_placed(option, str(entry), where, folder) for entry in entries]
    return texts if option.multiple else texts[0]


def _placed(option: click.Option, text: str, where: str, folder: Path) -> str:
    """`text`, with a path to a profile made relative to the folder of the file.

    Raises ArgumentError for a class of the user's own: that is code, which would run for whoever works in the folder.
    """
    if option.name == "verify_with" and ":" in text:
        raise ArgumentError(f"{where}: a class of your own can only be named on the command line")
    if option.name != "for_runtimes":
        return text
    from ..runtimes.naming import profile_file  # reads profiles, as whoever names a runtime does

    return os.path.join(folder, text) if profile_file(text) else text
