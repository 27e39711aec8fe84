"""The request for one model of a run and the report on it. Both travel between processes, so both are plain data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import onnx

from ..cached import cached_property
from ..conversion.options import Comparing, Options, files_of_options
from ..errors import Blocker, SplitRewriteError
from ..report.json_document import Document
from ..storage import KEPT, NamedFile, different_path
from .paths import is_uri, local_path


class Request(NamedTuple):
    """The request for every model of a run. `timeout` in seconds and `memory` in bytes are for one model; None is no limit."""

    target_opset: int | None
    compare: Comparing = "auto"
    options: Options = Options()
    timeout: float | None = None
    memory: int | None = None
    with_digests: bool = False
    """Whether reports contain digests, by which a run can be resumed. They cost reading all files."""
    folder: str | None = None
    """The folder that relative paths are relative to, where the converting process may have another working directory."""
    with_page: bool = False
    """Whether reports contain an HTML page about the model."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything but the model that the result depends on: target, options with the contents of the files that they
        name, and versions of the tools.
        """
        contents = [_content(file.path) for file in files_of_options(self.options)]
        versions = [_version(package) for package in ("split-rewrite", "onnx", "onnxruntime")]
        parts = (self.target_opset, self.compare, self.options, contents, versions)
        return hashlib.sha256(json.dumps(_canonical(parts)).encode()).hexdigest()


class Task(NamedTuple):
    """One model: `source` is its file or URI, and `destination` the place of the result, None for a dry run.

    `name` is short: the path below what the user named. `earlier` is the report on this model from the run that is resumed.
    """

    source: str
    destination: str | None
    name: str
    earlier: Document | None = None
    problem: str = ""
    """Why there is nothing to convert, such as a folder that cannot be read; "" for a model."""
    model: onnx.ModelProto | None = None
    """The model, if it is in memory; then `source` is only its name, and the result is in memory, too."""


def kept_files(tasks: Sequence[Task], options: Options) -> list[NamedFile]:
    """The files that --keep-different may write for `tasks`. Raises: SplitRewriteError where one would be at a URI."""
    paths = [(task.source, local_path(task.destination)) for task in tasks if task.destination and options.keep_different]
    for _, path in paths:
        if is_uri(path):
            raise SplitRewriteError(f"{path}: --keep-different writes no file to a URI; name a local folder")
    return [NamedFile(KEPT, different_path(path), model=source) for source, path in paths]


@dataclass(frozen=True)
class ModelReport:
    """The report on one model. `document` is its JSON report, as docs/report.md describes it."""

    task: Task
    document: Document
    page: str | None = None
    """The report as an HTML page, where the request asks for it."""
    model: onnx.ModelProto | None = None
    """The result, where the model was in memory; None where it was not converted."""

    @property
    def source(self) -> str:
        """The file or URI of the model, as it was given or found; the name of a model in memory."""
        return self.task.source

    @property
    def destination(self) -> str | None:
        """The place of the result, also where it was not written; None for a dry run, and for a model in memory."""
        return self.task.destination

    @property
    def outcome(self) -> str:
        """One of "converted", "convertible", "not convertible", "unusable", "failed a check" and "failed"."""
        return self.document["outcome"]

    @property
    def exit_status(self) -> int:
        """The exit status that the command line would have for this model alone."""
        return self.document["exit_status"]

    @property
    def message(self) -> str:
        """The error message; empty if there was no error."""
        return self.document["message"]

    @property
    def was_done_before(self) -> bool:
        """Whether this report is from an earlier run and still holds."""
        return self.document is self.task.earlier

    @property
    def seconds(self) -> float:
        """The seconds that the model took in its own process."""
        return self.document.get("seconds", 0.0)

    @property
    def certified(self) -> str:
        """What is proved for all shapes; "" where that was not asked for."""
        certificate = self.document.get("certificate")
        return f"certified: {certificate['summary']}" if certificate else ""

    @cached_property
    def blockers(self) -> tuple[Blocker, ...]:
        """The nodes that the target cannot express."""
        return tuple(_blocker(blocker) for blocker in self.document["blockers"])


def _blocker(document: Document) -> Blocker:
    """The blocker in a report, which may be of an earlier version."""
    return Blocker(**{field: document[field] for field in Blocker._fields if field in document})


def _content(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of the file at `path`; None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _version(package: str) -> str | None:
    """The installed version of `package`; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _canonical(value: Any) -> Any:
    """`value` in JSON types that are the same for equal values, whatever the order of sets and mappings."""
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
