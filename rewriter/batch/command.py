"""The command line for many models: it plans the run, converts, reports each model when it is done, and prints a summary."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import NamedTuple

import click

from ..conversion.options import Options, files_of_options, require_custom_operators
from ..errors import PathConflictError, SplitRewriteError
from ..process.child import core_count
from ..report.formats import PAGE, STREAM, files_in
from ..report.json_document import Document, dump_line
from ..report.page_head import is_page
from ..report.totals import Entry, Totals, table
from ..storage import INPUT_DATA, PAGE_OF_MODEL, RECORD, REPORT, NamedFile, check_destination, standard_output, write_text
from .inputs import plan
from .many import run
from .paths import is_uri
from .record import Record, check_record
from .task import ModelReport, Request, Task, kept_files

Say = Callable[[str, bool], None]
"""A function that prints one line of text; the second argument is True where the line is an error or a warning."""
_PAGE_NAME = re.compile(r"\d{5,}" + re.escape(PAGE.suffix))
"""The names of pages of models."""
_CLEAR = "\r\x1b[K"
"""The terminal codes that erase the line with the progress bar."""


class Wanted(NamedTuple):
    """The run that the command line asks for.

    `inputs`, `into` and `in_place` are the arguments of `plan`. `reports` are names of files, or "-" for standard output; `samples`
    are the files of --input-data.
    """

    inputs: Sequence[str]
    into: str | None
    in_place: bool = False
    processes: int | None = None
    scheduler: str | None = None
    resume: str | None = None
    reports: Sequence[str] = ()
    samples: Sequence[str] = ()
    quiet: bool = False
    verbose: bool = False

    @property
    def records(self) -> list[str]:
        """The reports that get a line for each model as soon as it is done."""
        return [path for path, _ in files_in(self.reports, lambda format: format.is_record)]

    @property
    def overviews(self) -> list[str]:
        """The reports that have a page for each model beside them."""
        return [path for path, _ in files_in(self.reports, lambda format: format.has_pages)]


def request_of(wanted: Wanted, request: Request) -> Request:
    """`request`, extended by the digests and pages that the reports of this run need."""
    return request._replace(with_digests=bool(wanted.records or wanted.resume), with_page=bool(wanted.overviews))


def convert_all(wanted: Wanted, request: Request, say: Say, emit: Callable[[str], None]) -> int:
    """Convert all models of the run and return the exit status. `say` prints text for the user; `emit` prints lines for programs.

    Raises: SplitRewriteError, before anything is converted, where the run cannot begin.
    """
    begun = time.monotonic()
    tasks = plan(wanted.inputs, wanted.into, wanted.in_place, lambda tasks: _other_files(wanted, request.options, tasks))
    require_custom_operators(request.options)
    for path in [*wanted.records, *filter(None, [wanted.resume])]:
        check_record(path)
    for path, _ in files_in(wanted.reports, lambda format: not format.is_record):
        check_destination(path)
    for path in wanted.overviews:
        _check_pages(_folder_of_pages(path), len(tasks))
    numbers = {(task.source, task.destination): number for number, task in enumerate(tasks, 1)}
    totals = Totals()
    with ExitStack() as stack:
        executor = None if wanted.scheduler is None else stack.enter_context(_dask_executor(wanted.scheduler))
        records: list[Record] = []
        if wanted.resume is not None:  # before others are emptied, since it may be refused
            records.append(stack.enter_context(Record(wanted.resume, resumed=True)))
            tasks = records[-1].tasks(tasks)
        pages = _Pages(wanted.overviews, len(tasks), records[0].earlier() if records else ())
        records += [stack.enter_context(Record(path, resumed=False)) for path in wanted.records]
        advance = stack.enter_context(_progress(len(tasks), hidden=wanted.quiet))
        for report in run(tasks, request_of(wanted, request), executor, wanted.processes, are_recorded=True):
            entry = _entry(numbers[report.source, report.destination], report)
            totals.add(entry)
            page = pages.add(entry, report)
            for record in records:
                record.add(report, page)
            advance(lambda entry=entry, report=report: _tell(entry, report, wanted, say, emit))
    _write_reports(wanted, totals, pages, time.monotonic() - begun)
    if not wanted.quiet and STREAM not in wanted.reports:
        most = min(wanted.processes or core_count(), len(tasks))
        processes = "" if wanted.scheduler else f", {most} process{'' if most == 1 else 'es'} at most"
        for text in table(totals, time.monotonic() - begun, processes):
            say(text, False)
    return totals.exit_status


def _other_files(wanted: Wanted, options: Options, tasks: Sequence[Task]) -> list[NamedFile]:
    """All files that the run reads and writes for `tasks` beside the models and their lists."""
    files = [*files_of_options(options), *kept_files(tasks, options), *(NamedFile(INPUT_DATA, path) for path in wanted.samples)]
    files += [NamedFile(REPORT, path) for path in wanted.reports if path != STREAM]
    files += [] if wanted.resume is None else [NamedFile(RECORD, wanted.resume)]
    folders = map(_folder_of_pages, wanted.overviews)
    files += [
        NamedFile(PAGE_OF_MODEL, os.path.join(folder, _page_name(number)))
        for folder in folders
        for number in range(1, len(tasks) + 1)
    ]
    return [*files, *standard_output()]


def _entry(number: int, report: ModelReport) -> Entry:
    """The part of a report that is kept. `number` is the position of the model in the order in which the models were named."""
    return Entry(
        number,
        report.source,
        report.destination,
        report.outcome,
        report.exit_status,
        report.message,
        report.seconds,
        report.was_done_before,
        report.blockers,
        tuple(report.document.get("notices", ())),
        is_uri(report.source),
        report.certified,
    )


def _tell(entry: Entry, report: ModelReport, wanted: Wanted, say: Say, emit: Callable[[str], None]) -> None:
    """Print what the user has to know about one model as soon as it is done: errors, warnings, and with --verbose the outcome."""
    if STREAM in wanted.reports:
        emit(dump_line(report.document).rstrip("\n"))
    if entry.exit_status:
        say(f"error: {entry.reason}", True)
        for blocker in entry.blockers[1:] if wanted.verbose else ():
            say(f"  {blocker}", True)
    for warning in () if wanted.quiet else entry.warnings:
        say(f"warning: {entry.source}: {warning}", True)
    if wanted.verbose and not entry.exit_status:
        say(f"{entry.outcome}: {entry.source} ({entry.seconds:.2f} s)", False)


@contextmanager
def _progress(total: int, hidden: bool) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Show on a terminal how many models are done, the rate, and the time left.

    Yields a function that is called once for each finished model, with a function that prints the messages about it.
    """
    if hidden or not sys.stderr.isatty():
        yield lambda tell: tell()
        return
    begun = time.monotonic()

    def rate(done: int | None) -> str:
        return f"{(done or 0) / max(time.monotonic() - begun, 0.001):.1f} a second"

    with click.progressbar(length=total, label="models", show_pos=True, item_show_func=rate, file=sys.stderr) as bar:

        def advance(tell: Callable[[], None]) -> None:
            sys.stderr.write(_CLEAR)
            tell()
            bar.update(1, bar.pos + 1)
            bar.render_progress()

        yield advance


class _Pages:
    """Writes the HTML page of each model into a folder beside the overview page, and knows those of the run that is resumed."""

    def __init__(self, overviews: Sequence[str], models: int, earlier: Sequence[Document]) -> None:
        """`models` is the number of models of this run, and `earlier` the reports of the run that is resumed."""
        self._folders = [_folder_of_pages(path) for path in overviews]
        self.names: dict[int, str] = {}
        for folder in self._folders:
            _made(folder)
        named = [(document, document.get("page")) for document in earlier]
        self._earlier = {
            (document["source"], document["destination"]): name
            for document, name in named
            if isinstance(name, str) and _PAGE_NAME.fullmatch(name)  # the record is a file that anyone may have written
        }
        self._taken = set(self._earlier.values())
        self._next = models

    def add(self, entry: Entry, report: ModelReport) -> str | None:
        """Write the page of a model that has one. Returns its name, or that of its page from the run that is resumed."""
        earlier = self._earlier.get((entry.source, entry.destination))
        if report.page is None:
            if earlier is not None and report.was_done_before and self._are_there(earlier):
                self.names[entry.number] = earlier
            return None
        name = earlier or self._new_name(entry.number)
        for folder in self._folders:
            write_text(report.page + "\n", os.path.join(folder, name))
        self.names[entry.number] = name
        return name

    def _are_there(self, name: str) -> bool:
        return bool(self._folders) and all(is_page(os.path.join(folder, name)) for folder in self._folders)

    def _new_name(self, number: int) -> str:
        """The name for the page of the model with this number, which no model of the earlier run has."""
        name = _page_name(number)
        while name in self._taken:
            self._next += 1
            name = _page_name(self._next)
        self._taken.add(name)
        return name

    def links(self, path: str) -> dict[int, str]:
        """The links to the pages, relative to the overview at `path`, by the number of the model."""
        folder = os.path.basename(_folder_of_pages(path))
        return {number: f"{folder}/{name}" for number, name in self.names.items()}


def _folder_of_pages(overview: str) -> str:
    return f"{os.path.splitext(overview)[0]}_pages"


def _page_name(number: int) -> str:
    return f"{number:05d}{PAGE.suffix}"


def _write_reports(wanted: Wanted, totals: Totals, pages: _Pages, seconds: float) -> None:
    for path, format in files_in(wanted.reports, lambda format: format.of_run is not None):
        assert format.of_run is not None
        links = pages.links(path) if format.has_pages else {}
        write_text(format.of_run(totals, links, seconds) + "\n", path)


def _check_pages(folder: str, models: int) -> None:
    """Raises PathConflictError where a page of a model would replace a file that is no page of an earlier run."""
    for number in range(1, models + 1):
        path = os.path.join(folder, _page_name(number))
        if os.path.exists(path) and not is_page(path):
            raise PathConflictError(f"{path}: is not a page of an earlier run, and a page would replace it; choose another name")


def _made(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise SplitRewriteError(f"{folder}: the report cannot be written: {error.strerror or error}") from error


@contextmanager
def _dask_executor(address: str) -> Iterator[Executor]:
    """Connect to the Dask scheduler at `address`, for the time of a `with`, and return an executor for its cluster.

    Raises: SplitRewriteError where no scheduler answers, or Dask is not installed.
    """
    try:
        client_of = import_module("distributed").Client
    except ImportError:
        raise SplitRewriteError("--scheduler needs Dask: pip install 'split-rewrite[dask]'") from None
    try:
        client = client_of(address)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise SplitRewriteError(f"--scheduler {address}: no Dask scheduler answers there: {reason}") from error
    with client:
        yield client.get_executor(pure=False)
