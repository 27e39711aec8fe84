"""Converts one model of many and makes its report. Every exception becomes part of the report; none is passed on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import onnx

from .. import calls
from ..conversion.driver import Done, convert_path, dry_run
from ..conversion.driver import convert_model as convert_in_memory
from ..errors import SplitRewriteError, status_and_line
from ..report.finished import Finished, ModelFile
from ..report.json_document import Document, make_document
from ..report.page import make_page
from .digests import model_digest
from .paths import is_uri
from .remote import LocalFiles, local_files, remote_size
from .task import Request, Task

FINAL_OUTCOMES = ("converted", "convertible", "not convertible", "failed a check")
"""The outcomes that the same model and options would give again.

Others, such as a full disk, may change, so they are tried again.
"""


class Answer(NamedTuple):
    """The answer to a task. `document` is the JSON report, or None where the earlier report of the task still holds."""

    document: Document | None
    page: str | None = None
    model: onnx.ModelProto | None = None
    """The result of a model that is in memory."""


def convert_model(task: Task, request: Request) -> Answer:
    """Convert the model of `task` as `request` says, unless the earlier report of the task still holds."""
    begun = time.monotonic()
    notes: Document = {"name": task.name}
    try:
        if task.problem:
            raise SplitRewriteError(task.problem)
        if task.model is not None:
            return _in_memory(task, task.model, request, begun)
        with local_files(task.source, task.destination) as files:
            if request.with_digests:
                notes["digests"] = _digests(task, files, request)
            if _still_holds(task, notes.get("digests")):
                return Answer(None)
            if request.options.no_clobber and is_uri(task.destination or "") and remote_size(str(task.destination)) is not None:
                raise SplitRewriteError(f"{task.destination}: exists, and no file is to be replaced (no-clobber)")
            with _named_as(task, files):
                done = _convert(task, files, request)
            answer = _answer(task, files, request, done, None)  # while there is a copy of what is at a URI
        if request.with_digests and task.destination is not None:
            notes["digests"]["output"] = _output_digest(task.destination)
    except Exception as error:
        answer = _answer(task, LocalFiles(task.source, task.destination), request, None, error)
    return _completed(answer, notes, begun)


def _completed(answer: Answer, notes: Document, begun: float) -> Answer:
    assert answer.document is not None
    return answer._replace(document=answer.document | notes | {"seconds": round(time.monotonic() - begun, 3)})


def _in_memory(task: Task, model: onnx.ModelProto, request: Request, begun: float) -> Answer:
    """Convert `model`, which belongs to `task`."""
    with calls.limits(task.source):
        result, report = convert_in_memory(model, request.target_opset, compare=request.compare, options=request.options)
    answer = _answer(task, LocalFiles(task.source, task.destination), request, Done(report, ()), None)
    return _completed(answer, {"name": task.name}, begun)._replace(model=result)


def failed(task: Task, error: Exception, status: int) -> Document:
    """The JSON report of a model whose conversion ended with `error`."""
    files = LocalFiles(task.source, task.destination)
    return {**make_document(Finished(*_model_files(task, files), None, error, status)), "name": task.name}


def _convert(task: Task, files: LocalFiles, request: Request) -> Done:
    target, options = request.target_opset, request.options
    with calls.limits(task.source):
        if files.destination is None:
            return dry_run(files.source, target, options=options)
        os.makedirs(os.path.dirname(files.destination) or ".", exist_ok=True)
        done: list[Done] = []
        convert_path(
            files.source,
            files.destination,
            target,
            compare=request.compare,
            options=options,
            announce=lambda converted, _: done.append(converted),
        )
        return done[0]


@contextmanager
def _named_as(task: Task, files: LocalFiles) -> Iterator[None]:
    """Let errors name the files that the user named, and not their copies in a scratch folder."""
    try:
        yield
    except SplitRewriteError as error:
        copies = {files.source: task.source, files.destination: task.destination}
        for copy, named in copies.items():
            if copy != named and copy and named:
                error.args = tuple(str(argument).replace(copy, named) for argument in error.args)
        raise


def _answer(task: Task, files: LocalFiles, request: Request, done: Done | None, error: Exception | None) -> Answer:
    opset, runtimes = request.target_opset, request.options.for_runtimes
    target = f"opset {opset}" if opset is not None else " and ".join(runtimes)
    report, rewrites = (None, ()) if done is None else done
    finished = Finished.of(*_model_files(task, files), report, error, target, rewrites)
    document = make_document(finished) | {"notices": report.warnings if report else []}
    if error is not None:
        document["message"] = status_and_line(error)[1]
    return Answer(document, make_page(finished) if request.with_page else None)


def _model_files(task: Task, files: LocalFiles) -> tuple[ModelFile, ModelFile | None]:
    """The input and the output, each with the name that the user gave it and the place where it is now."""
    if task.model is not None:
        return ModelFile(task.source, ""), ModelFile(task.source, "")
    if task.destination is None or files.destination is None:
        return ModelFile(task.source, files.source), None
    return ModelFile(task.source, files.source), ModelFile(task.destination, files.destination)


def _digests(task: Task, files: LocalFiles, request: Request) -> Document:
    """The digests of the request and of both models as they are now."""
    output = None if task.destination is None else _output_digest(task.destination)
    return {"request": request.digest, "input": model_digest(files.source), "output": output}


def _output_digest(destination: str) -> str | None:
    """A digest of the result; for a result at a URI only its size, because reading it would cost a download."""
    return remote_size(destination) if is_uri(destination) else model_digest(destination)


def _still_holds(task: Task, now: Document | None) -> bool:
    """Whether the earlier report was for the same request, and both models are the same as at the end of that run."""
    if now is None or task.earlier is None or task.earlier["outcome"] not in FINAL_OUTCOMES:
        return False
    then = dict(task.earlier.get("digests") or {})
    if task.source == task.destination and task.earlier["outcome"] == "converted":
        then["input"] = then.get("output")  # the result took the place of the input
    return then == now
