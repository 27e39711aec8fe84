"""The .jsonl record of a run: the JSON report of each model on its own line, written as soon as the model is done.

A run that was interrupted can be resumed from its record.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from ..errors import SplitRewriteError
from ..report.json_document import Document, dump_line
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


class Record:
    """The record in the file `path`. With `resumed`, what it contains stays and new reports are appended; otherwise it starts
    empty.

    A context manager. Raises: SplitRewriteError where the file cannot be read or written, or is not a record.
    """

    def __init__(self, path: str, resumed: bool) -> None:
        self._path = path
        self._earlier: dict[tuple[str, str | None], Document] = {}
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

    def add(self, report: ModelReport) -> None:
        """Write the report and flush it, so that it survives if this program is killed.

        A report that is already here is not repeated.
        """
        if report.was_done_before:
            return
        text = dump_line(report.document | {"source": report.source, "destination": report.destination})
        try:
            self._file.write(text.encode())
            self._file.flush()
        except OSError as error:
            raise _unusable(self._path, error) from error

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):  # what could not be written was said when it was to be written
            self._file.close()

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
                self._earlier[document["source"], document["destination"]] = document
            except (ValueError, KeyError, TypeError, RecursionError):
                raise SplitRewriteError(
                    f"{self._path}: line {number} is not the report of a model; name a report to resume"
                ) from None
        self._file.seek(whole)
        self._file.truncate()
