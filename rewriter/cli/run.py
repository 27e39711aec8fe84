"""One run of the command line for one model: its files, the messages, and the reports."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO

import click

from ..errors import Blocker, SplitRewriteError
from ..process import child_call
from ..report.formats import STREAM, format_of
from ..sizes import shown_size
from .terminal import PROGRAM, discard, lean_imports, one_line, say

if TYPE_CHECKING:
    from ..conversion.driver import Announce, Done
    from ..conversion.options import Options
    from ..report.report import Report

_Path = str | os.PathLike[str]


class Run:
    """The files of one run, and the messages about it."""

    def __init__(self, source: str, file: _Path, output: str | None, given: dict[str, Any]) -> None:
        """`source` and `output` are as the user gave them; `file` is the one to read."""
        from ..storage import INPUT, INPUT_DATA, REPORT, NamedFile, standard_input, standard_output

        self.file = file
        self.output = output
        self.given = given
        self.others = [NamedFile(REPORT, path) for path in given["report"] if path != STREAM]
        self.others += [NamedFile(INPUT_DATA, loaded.file) for loaded in given["input_data"]]
        self.others += [*(standard_input(INPUT) if source == STREAM else ()), *standard_output()]
        self._source = source
        opset, runtimes = given["target_opset"], given["for_runtimes"]
        self._target = f"opset {opset}" if opset is not None else " and ".join(runtimes)

    def report_success(self, done: Done, written: _Path | None) -> None:
        """Print and write the reports of a success.

        The result, `written`, is moved to its place only afterwards, and not if this fails.
        """
        for path in self.given["report"]:
            self._write_report(path, done, written, None)
        if self.given["quiet"] or STREAM in self.given["report"]:
            print_blockers(done.report.blockers, self.given["verbose"])
        else:
            _print_report(done.report, self.given["verbose"], sys.stderr if self.output == STREAM else None)

    def report_end(self, seconds: float) -> None:
        """Print what was written, and how long the run took."""
        if self.output is None or self.given["quiet"] or STREAM in self.given["report"]:
            return
        if self.output == STREAM:
            say(f"wrote the model to standard output in {seconds:.1f} s", sys.stderr)
        else:
            say(one_line(f"wrote {self.output} ({shown_size(os.path.getsize(self.output))}) in {seconds:.1f} s"))

    def report_failure(self, error: Exception) -> None:
        for path in self.given["report"]:
            try:
                self._write_report(path, None, None, error)
            except SplitRewriteError as another:
                if str(another) != str(error):
                    say(f"error: {another}", sys.stderr)

    def _write_report(self, path: str, done: Done | None, written: _Path | None, failure: Exception | None) -> None:
        from ..report.finished import Finished, ModelFile
        from ..storage import write_text

        format = format_of(path)
        assert format is not None and format.of_model is not None  # the command line has been checked
        source = ModelFile(self._source, os.fspath(self.file))
        result = None if self.output is None else ModelFile(self.output, os.fspath(written or self.output))
        report, rewrites = (None, ()) if done is None else done
        text = format.of_model(Finished.of(source, result, report, failure, self._target, rewrites))
        if path == STREAM:
            say(text)
        else:
            write_text(f"{text}\n", path)


def run_job(run: Run, target: int | None, options: Options) -> Report:
    from ..conversion.driver import dry_run

    with progress_bar(hidden=run.given["quiet"]) as hide:

        def announce(done: Done, written: _Path | None) -> None:
            hide()
            run.report_success(done, written)

        if run.output is None:
            done = dry_run(run.file, target, options=options, others=run.others)
            announce(done, None)
            return done.report
        if run.output == STREAM:
            return _convert_to_stdout(run, target, options, announce)
        return _convert(run, run.output, target, options, announce)


def _convert(run: Run, output: _Path, target: int | None, options: Options, announce: Announce) -> Report:
    from ..conversion.driver import convert_path

    compare = run.given["compare"]
    return convert_path(run.file, output, target, compare=compare, options=options, others=run.others, announce=announce)


def _convert_to_stdout(run: Run, target: int | None, options: Options, announce: Announce) -> Report:
    with TemporaryDirectory(prefix=f"{PROGRAM}-") as folder:
        path = os.path.join(folder, "model.onnx")
        report = _convert(run, path, target, replace(options, external_data="inline"), announce)
        try:
            with open(path, "rb") as model:
                shutil.copyfileobj(model, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            discard(sys.stdout)
            raise SplitRewriteError(f"standard output: cannot be written: {error.strerror or error}") from error
        return report


@contextmanager
def progress_bar(hidden: bool) -> Iterator[Callable[[], None]]:
    """Show the progress of slow stages on a terminal. Yields a function that removes the bar."""
    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from ..progress import listening
    from .progress_bar import Bar

    with Bar(sys.stderr) as bar, listening(bar.update):
        yield bar.close


@contextmanager
def readable_input(source: str) -> Iterator[str | os.PathLike[str]]:
    """The path to read: INPUT, or a temporary copy of what standard input delivers."""
    child_call.prepare()  # it gets ready while this process imports onnx
    with lean_imports():
        from ..conversion import driver as _driver  # noqa: F401 - with all that it imports
        from ..storage import spooled, spooled_stream
    with spooled_stream(0, "standard input") if source == STREAM else spooled(source) as file:
        yield file


def check_streams(source: str, output: str | None, given: dict[str, Any]) -> None:
    """Raises click.UsageError where - cannot stand for standard input or output, for example because two arguments claim it."""
    if source == STREAM and os.isatty(0):
        raise click.UsageError("INPUT is -, but standard input is a terminal: send a model to it.")
    if output != STREAM:
        return
    if os.isatty(1):
        raise click.UsageError("OUTPUT is -, but standard output is a terminal: send it to a file or a program.")
    if STREAM in given["report"]:
        raise click.UsageError("OUTPUT and --report are both -: only one can be standard output.")
    if given["keep_different"]:
        raise click.UsageError("OUTPUT is -, and --keep-different writes a file beside OUTPUT: name a file.")
    if given["external_data"] not in ("auto", "inline"):
        raise click.UsageError("OUTPUT is -, so there can be no data file: use --external-data inline, or name a file.")


def only_destination(destination: str | None, output: str | None, dry_run: bool) -> str | None:
    """The path to write, or None for a dry run."""
    if destination is not None and output is not None:
        raise click.UsageError("OUTPUT is given twice, as an argument and by -o.")
    chosen = destination if output is None else output
    if dry_run and chosen:
        raise click.UsageError("--dry-run writes nothing: leave OUTPUT out.")
    if not dry_run and not chosen:
        raise click.UsageError("Missing argument 'OUTPUT': name the file to write.")
    return chosen


def _print_report(report: Report, verbose: bool, stream: TextIO | None) -> None:
    """Print the report of a success: warnings to standard error, everything else to `stream`, which is
    standard output by default.
    """
    from ..report.summary import avoided, details

    for warning in report.warnings:
        say(f"warning: {one_line(warning)}", sys.stderr)
    if verbose:
        for line in details(report):
            say(one_line(line), stream)
    elif report.reach is not None:
        for line in avoided(report):
            say(one_line(line), stream)
    print_blockers(report.blockers, verbose)
    say(str(report), stream)


def print_blockers(blockers: Sequence[Blocker], verbose: bool) -> None:
    """Print to standard error why nodes cannot be converted: a line for each, or for each kind if there are many."""
    from ..report.summary import grouped

    for line in map(str, blockers) if verbose else grouped(blockers):
        say(f"cannot be converted: {one_line(line)}", sys.stderr)
