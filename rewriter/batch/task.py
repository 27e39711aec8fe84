"""What is asked for one model of many, and what came of it: both travel between processes, so both are plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from ..cached import cached_property
from ..errors import Blocker
from ..options import Comparing, Options
from ..report.json_document import Document


class Request(NamedTuple):
    """What is asked for every model of a run; `timeout` in seconds, `memory` in bytes, both for one model, None for no limit."""

    target_opset: int | None
    compare: Comparing = "auto"
    options: Options = Options()
    timeout: float | None = None
    memory: int | None = None
    with_digests: bool = False
    """Whether reports get the digests that a later run can be resumed by: they cost reading all files."""
    folder: str | None = None
    """What relative paths are relative to, where the converting process may be in another folder."""
    with_page: bool = False
    """Whether reports get their page to look at."""

    @property
    def digest(self) -> str:
        """SHA-256 of what the result depends on beside the model: target, options, and the versions of the tools."""
        parts = (self.target_opset, self.compare, self.options, version("split-rewrite"), version("onnx"))
        return hashlib.sha256(json.dumps(_canonical(parts)).encode()).hexdigest()


class Task(NamedTuple):
    """One model: the file or URI `source`, and `destination`, where the result goes, None for a dry run.

    `name` is short: the path below what the user named. `earlier` is the report of this model in a run that is resumed.
    """

    source: str
    destination: str | None
    name: str
    earlier: Document | None = None


@dataclass(frozen=True)
class ModelReport:
    """What came of one model. `document` is its JSON report, as docs/report.md describes it."""

    task: Task
    document: Document
    page: str | None = None
    """The page to look at, as HTML, where the request asks for it."""

    @property
    def source(self) -> str:
        """The file or URI of the model, as it was given or found."""
        return self.task.source

    @property
    def destination(self) -> str | None:
        """Where the result is, or would have been; None for a dry run."""
        return self.task.destination

    @property
    def outcome(self) -> str:
        """ "converted", "convertible", "not convertible", "unusable", "failed a check" or "failed"."""
        return self.document["outcome"]

    @property
    def exit_status(self) -> int:
        """What the command line would have ended with for this model alone."""
        return self.document["exit_status"]

    @property
    def message(self) -> str:
        """The error; empty if there was none."""
        return self.document["message"]

    @property
    def was_done_before(self) -> bool:
        """Whether this is the report of an earlier run, which still holds."""
        return self.document is self.task.earlier

    @property
    def seconds(self) -> float:
        """How long the model took, in its own process."""
        return self.document.get("seconds", 0.0)

    @cached_property
    def blockers(self) -> tuple[Blocker, ...]:
        """The nodes that the target cannot express."""
        return tuple(Blocker(**blocker) for blocker in self.document["blockers"])


def _canonical(value: Any) -> Any:
    """`value` as JSON types that are the same for equal values, whatever the order of sets and mappings."""
    if is_dataclass(value):
        return [type(value).__name__, *([field.name, _canonical(getattr(value, field.name))] for field in fields(value))]
    if isinstance(value, Mapping):
        return sorted(([str(key), _canonical(item)] for key, item in value.items()), key=lambda pair: pair[0])
    if isinstance(value, AbstractSet):
        return sorted(map(str, value))
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
