"""The types of the values on the command line, as click's parameter types. Each says what it expects if a value is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..batch.paths import parse_size
from ..report.formats import FORMATS, LINES, format_of
from ..suggestions import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from numpy import ndarray

_ONCE = ("target_opset", "output")
"""The options that say what is written, and where: of two, neither can be ignored."""


class OnceCommand(click.Command):
    """A command that refuses the options of `_ONCE` where they are given twice; click would take the last one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            names = [parameter.name for parameter in self.make_parser(ctx).parse_args(given)[2]]
            for option in _ONCE:
                if names.count(option) > 1:
                    raise click.UsageError(f"--{option.replace('_', '-')} is given twice.", ctx)
        return rest


class Opset(click.ParamType):
    name = "opset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if str(value).casefold() == "latest":
            return "latest"
        return _number(value, self, param, ctx, "a number or 'latest'")


class Choice(click.Choice):
    """One of several words, in any case; for another word, the most similar ones are suggested."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        words = list(map(str, self.choices))
        chosen = next((word for word in words if word.casefold() == str(value).casefold()), None)
        if chosen is None:
            self.fail(f"'{value}' is not one of {', '.join(words)}{did_you_mean(str(value), words)}", param, ctx)
        return chosen


class RuntimeName(click.ParamType):
    """The name of a runtime, unchanged. Shells complete it."""

    name = "runtime"

    def __init__(self, only: Sequence[str] = ()) -> None:
        self._only = only
        """The names to complete, where not every known runtime can be given."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from ..runtimes.naming import runtime_names  # reads the profiles of all runtimes

        names = self._only or runtime_names()
        items = [CompletionItem(name) for name in names if name.startswith(incomplete.casefold())]
        return items or [CompletionItem(incomplete, type="file")]  # a profile, or the module of an adapter


class RuleName(click.ParamType):
    """The name of a rule or of a module of rules, unchanged. Shells complete it."""

    name = "rule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from ... import rules as _rules  # noqa: F401 - importing the rules registers them
        from ..engine.registry import registry
        from ..engine.selection import MECHANISMS

        names = {name for rule in registry for name in (rule.name, rule.name.partition(".")[0])} | set(MECHANISMS)
        return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete.casefold())]


class Bound(click.ParamType):
    """A tolerance, 1e-3 or OUTPUT:1e-3, split at the last colon; without OUTPUT the name is None."""

    name = "tolerance"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, float]:
        name, colon, bound = value.rpartition(":")
        try:
            number = float(bound)
        except ValueError:
            number = math.nan
        if not (0 <= number < math.inf) or (colon and not name):
            self.fail(f"expected a number from 0 on, or OUTPUT:NUMBER, not '{value}'", param, ctx)
        return name or None, number


class Shape(click.ParamType):
    """A shape, NAME:1,3,224,224, split at the last colon; without NAME the name is None."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str | None, tuple[int, ...]]:
        name, colon, dims = value.rpartition(":")
        if not (colon or dims) or (colon and not name):
            self.fail(f"expected NAME:1,3,224,224, not '{value}'", param, ctx)
        sizes = [_number(size, self, param, ctx, "whole numbers as in 1,3,224,224") for size in dims.split(",") if dims]
        return name or None, tuple(sizes)


class Loaded(NamedTuple):
    """The arrays that were read from a file."""

    file: str
    arrays: dict[str, ndarray[Any, Any]]

    @property
    def is_sample(self) -> bool:
        """Whether the arrays are one complete sample, as those of an .npz file are."""
        return self.file.endswith(".npz")


class Arrays(click.ParamType):
    """The arrays of NAME:FILE.npy or of FILE.npz."""

    name = "arrays"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Loaded:
        name, file = ("", value) if value.endswith(".npz") else value.rpartition(":")[::2]
        if not file.endswith(".npz") and not (name and file.endswith(".npy")):
            self.fail(f"expected NAME:FILE.npy or FILE.npz, not '{value}'", param, ctx)
        try:
            return Loaded(file, _load_arrays(name, file))
        except OSError as error:
            self.fail(f"{file} cannot be read: {error.strerror or error}", param, ctx)
        except (ValueError, EOFError) as error:
            self.fail(f"{file} cannot be read: {str(error).splitlines()[0]}", param, ctx)


def _number(value: Any, kind: click.ParamType, param: click.Parameter | None, ctx: click.Context | None, expected: str) -> int:
    try:
        return int(value)
    except ValueError:
        kind.fail(f"expected {expected}, not '{value}'", param, ctx)


def _load_arrays(name: str, file: str) -> dict[str, ndarray[Any, Any]]:
    """The arrays of an .npz file, or the array of an .npy file under `name`. Raises OSError, ValueError or EOFError."""
    import zipfile
    import zlib

    import numpy as np

    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray) == file.endswith(".npz"):
            raise ValueError("the contents do not match the ending of the name")
        return {name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error)) from error


class File(click.ParamType):
    """A path, unchanged. Shells complete it."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # only the shell needs it

        return [CompletionItem(incomplete, type="file")]


class ReportFile(File):
    """The name of a file for a report, or - for standard output."""

    name = "report"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if format_of(value) is None:
            endings = ", ".join(format.suffix for format in FORMATS)
            self.fail(f"'{value}' should end with one of {endings}, or be - for JSON on standard output", param, ctx)
        return value


class RecordFile(File):
    """The name of a file with a line for each model; other names are rejected, so that no other file is overwritten."""

    name = "record"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if format_of(value) is not LINES:
            self.fail(f"expected a name that ends with {LINES.suffix}, not '{value}'", param, ctx)
        return value


class Size(click.ParamType):
    """A number of bytes, such as 4GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Declaration(click.ParamType):
    """A declared type, NAME:float[N,64], split at the last colon."""

    name = "declaration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, _, text = value.rpartition(":")
        if not name or not text:
            self.fail(f"expected NAME:float[N,64], not '{value}'", param, ctx)
        return name, text
