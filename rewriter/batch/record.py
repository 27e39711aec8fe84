"""The .jsonl record of a run: the JSON report of each model on its own line, written as soon as the model is done.

A run that was interrupted can be resumed from its record.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..errors import SplitRewriteError
from ..report.json_document import Document, dump_line
from ..storage.paths import create, temporary_path
from .task import ModelReport, Task

_BEGINNING = b'{"schema": "split-rewrite/report"'
"""The beginning of every line. A file that does not begin like this was written by another program and is never changed."""


def check_record(path: str) -> None:
    """Check that a record can be written to `path`; nothing is created or changed. Raises: SplitRewriteError."""
    try:
        if os.path.exists(path):
            os.close(os.open(path, os.O_RDWR))
        else:
            with os.scandir(os.path.dirname(os.path.realpath(path))):
                pass
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: str, error: OSError) -> SplitRewriteError:
    return SplitRewriteError(f"{path}: the report cannot be written: {error.strerror or error}")


def _key(document: Document) -> tuple[str, str | None]:
    """The model that a line is about."""
    return document["source"], document["destination"]


class Record:
    """The record in the file `path`. With `resumed`, what it contains stays and new reports are appended; otherwise it starts
    empty.

    A context manager. Raises: SplitRewriteError where the file cannot be read or written, or is not a record.
    """

    def __init__(self, path: str, resumed: bool) -> None:
        self._path = path
        self._earlier: dict[tuple[str, str | None], Document] = {}
        self._has_repeated = False
        """Whether a model has more than one line, of which the last counts."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | (0 if resumed else os.O_TRUNC), 0o666)
            self._file = open(descriptor, "r+b")  # noqa: SIM115 - for as long as the run lasts
            if resumed:
                self._read()
        except OSError as error:
            raise _unusable(path, error) from error

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """`tasks`, each with the earlier report that this record has for it."""
        return [task._replace(earlier=self._earlier.get((task.source, task.destination))) for task in tasks]

    def earlier(self) -> Sequence[Document]:
        """The reports of the run that is resumed, one for each model."""
        return list(self._earlier.values())

    def add(self, report: ModelReport, page: str | None = None) -> None:
        """Write the report and flush it, so that it survives if this program is killed. `page` is the name of its page.

        A report that is already here is not repeated.
        """
        if report.was_done_before:
            return
        self._has_repeated |= (report.source, report.destination) in self._earlier
        more = {"source": report.source, "destination": report.destination} | ({} if page is None else {"page": page})
        text = dump_line(report.document | more)
        try:
            self._file.write(text.encode())
            self._file.flush()
        except OSError as error:
            raise _unusable(self._path, error) from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):  # what could not be written was said when it was to be written
            if self._has_repeated:
                self._drop_repeated()
            self._file.close()

    def _drop_repeated(self) -> None:
        """Replace the file by one that has a single line for each model, the last one, in the order of the last lines."""
        self._file.seek(0)
        last = {_key(json.loads(text)): number for number, text in enumerate(self._file)}
        place = Path(os.path.realpath(self._path))
        temporary = temporary_path(place.parent, ".jsonl")
        try:
            self._file.seek(0)
            with open(create(temporary, place), "wb") as out:
                out.writelines(text for number, text in enumerate(self._file) if last[_key(json.loads(text))] == number)
            os.replace(temporary, place)
        finally:
            temporary.unlink(missing_ok=True)

    def _read(self) -> None:
        """Read the complete lines. If the last line was cut off by the end of an earlier run, it is removed."""
        if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            raise SplitRewriteError(f"{self._path}: is not a regular file, and cannot be resumed")
        whole = 0
        for number, text in enumerate(self._file, 1):
            if text.startswith(_BEGINNING[: len(text)]) and not text.endswith(b"\n"):
                break
            whole += len(text)
            try:
                document = json.loads(text)
                self._has_repeated |= _key(document) in self._earlier
                self._earlier[_key(document)] = document
            except (ValueError, KeyError, TypeError, RecursionError):
                raise SplitRewriteError(
                    f"{self._path}: line {number} is not the report of a model; name a report to resume"
                ) from None
        self._file.seek(whole)
        self._file.truncate()
