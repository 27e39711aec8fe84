"""The report of a conversion, as callers get it."""

from __future__ import annotations

from ..document import Document
from .data import ReportData
from .summary import in_a_line, summary, verdict


class Report(ReportData):
    """Everything that a conversion reports. Opsets are those of the default domain, None where the model does not import it.

    It is plain data, which holds nothing of the model: it can be kept, pickled and sent to other processes.
    """

    def to_dict(self) -> Document:
        """The report as JSON types: the document that docs/report.md describes. Files are named there, but not read."""
        from .json_document import document_of

        return document_of(self)

    def __repr__(self) -> str:
        return f"<Report: {in_a_line(self)}>"

    def __str__(self) -> str:
        """The report as a short table."""
        return summary(self) if self.reach is None else verdict(self)
