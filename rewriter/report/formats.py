"""The formats of reports: a row for each, with the ending of its files and the functions that make its text.

A new format is a module with such a function and a row in `FORMATS`; options, messages and runs of many models follow. Only the
functions import those modules, and with them onnx, so that --help is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .finished import Finished
    from .totals import Totals

STREAM = "-"
"""Standard output, instead of a file."""


class Format(NamedTuple):
    """A format of reports."""

    suffix: str
    """The ending of the names of its files."""
    of_model: Callable[[Finished], str] | None = None
    """The function that makes the text of a report on one model; None where the format is for runs of many alone."""
    of_run: Callable[[Totals, Mapping[int, str], float], str] | None = None
    """The function that makes the text of a report on a run of many models, when it has ended.

    Its arguments are the models, the links to their pages by number, and the seconds that the run took.
    """
    is_record: bool = False
    """Whether a file has a line for each model of a run, written as soon as the model is done, by which a run can be resumed."""
    has_pages: bool = False
    """Whether a report on a run has, beside it, the report on each model."""
    use: str = ""
    """The use of a report on one model, as --help names it."""
    use_for_many: str = ""

    @property
    def is_for_many(self) -> bool:
        """Whether the format can describe a run of many models."""
        return self.is_record or self.of_run is not None

    @property
    def is_for_many_alone(self) -> bool:
        """Whether asking for a report in this format asks for a run of many, even of a single model."""
        return self.of_model is None


def _document(finished: Finished) -> str:
    from .json_document import dump, make_document

    return dump(make_document(finished))


def _page(finished: Finished) -> str:
    from .page import make_page

    return make_page(finished)


def _overview(totals: Totals, pages: Mapping[int, str], seconds: float) -> str:
    from .overview import overview

    return overview(totals, pages, seconds)


def _junit(totals: Totals, _pages: Mapping[int, str], _seconds: float) -> str:
    from .junit import junit

    return junit(totals)


def _sarif(totals: Totals, _pages: Mapping[int, str], _seconds: float) -> str:
    from .sarif import sarif

    return sarif(totals)


JSON = Format(".json", of_model=_document, use="for programs (docs/report.md)")
PAGE = Format(".html", of_model=_page, of_run=_overview, has_pages=True, use="to look at", use_for_many="with an overview")
LINES = Format(".jsonl", is_record=True, use_for_many="with a line for each")
FORMATS = (
    JSON,
    PAGE,
    LINES,
    Format(".xml", of_run=_junit, use_for_many="for JUnit"),
    Format(".sarif", of_run=_sarif, use_for_many="for code scanning"),
)


def format_of(path: str) -> Format | None:
    """The format of the report at `path`; None where its name has the ending of none. On standard output, reports are JSON."""
    if path == STREAM:
        return JSON
    return next((format for format in FORMATS if path.endswith(format.suffix)), None)


def files_in(paths: Iterable[str], wanted: Callable[[Format], bool]) -> list[tuple[str, Format]]:
    """The files among `paths` whose format is `wanted`, without standard output, each with its format."""
    found = ((path, format_of(path)) for path in paths if path != STREAM)
    return [(path, format) for path, format in found if format is not None and wanted(format)]
