"""A conversion that has ended, well or not: what the reports on one model are made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..document import outcome_of, unread
from ..errors import Blocker, SplitRewriteError, UnconvertibleError, status_and_line
from .rewritten import printable

if TYPE_CHECKING:
    from ..engine.outcome import Rewrite
    from .data import ReportData


class ModelFile(NamedTuple):
    """A model file: the name that the user gave, and the path where it is at the moment."""

    name: str
    path: str

    def facts(self) -> dict[str, Any]:
        """Name, size in bytes and SHA-256 of the file; None where it cannot be read. External data is not included."""
        unknown = unread(self.name)
        if not os.path.isfile(self.path):
            return unknown  # a pipe would have to be read to its end
        try:
            with open(self.path, "rb") as file:
                digest = hashlib.sha256()
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
                return {"path": self.name, "bytes": file.tell(), "sha256": digest.hexdigest()}
        except OSError:
            return unknown


class Finished(NamedTuple):
    """One conversion or dry run that has ended.

    `destination` is None for a dry run, and `report` where the conversion failed before there was one. `exit_status` is that of
    the command line. `rewrites` are those of the report while the model is still there, for drawings.
    """

    source: ModelFile
    destination: ModelFile | None
    report: ReportData | None
    error: BaseException | None
    exit_status: int
    target: str = ""
    """What was asked for, such as "opset 13" or "openvino-2024.2"; "" where the opset stays, or nothing is known about it."""
    rewrites: Sequence[Rewrite] = ()

    @classmethod
    def of(
        cls,
        source: ModelFile,
        destination: ModelFile | None,
        report: ReportData | None,
        error: Exception | None,
        target: str = "",
        rewrites: Sequence[Rewrite] = (),
    ) -> Finished:
        """Make the record with the exit status that follows, and without rewrites that no report can show."""
        if error is not None:
            return cls(source, destination, report, error, status_and_line(error)[0], target)
        status = UnconvertibleError.exit_status if report is not None and report.blockers else 0
        return cls(source, destination, report, None, status, target, printable(rewrites))

    @property
    def outcome(self) -> str:
        """One of "converted", "convertible", "not convertible", "unusable", "failed a check" and "failed"."""
        if self.error is None:
            if self.destination is not None:
                return "converted"
            return "convertible" if self.report is not None and not self.report.blockers else "not convertible"
        return outcome_of(self.error.exit_status) if isinstance(self.error, SplitRewriteError) else "failed"

    @property
    def blockers(self) -> Sequence[Blocker]:
        """The nodes that the target cannot express."""
        if isinstance(self.error, UnconvertibleError):
            return self.error.blockers
        return () if self.report is None else self.report.blockers

    @property
    def written(self) -> ModelFile | None:
        """The file with the result; None where nothing was written."""
        return self.destination if self.error is None else None
