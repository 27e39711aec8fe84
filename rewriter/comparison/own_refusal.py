"""Finds out whether a model runs at all. If a conversion fails on a model that no runtime runs, the model is what is wrong."""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from ..storage import stage
from ..storage.skeleton import Skeleton
from .model_client import Worker, lent_worker
from .model_server import Failure, RejectedError
from .samples import InputSpace, SampleError, Samples

_ENGINES = ("onnxruntime", "onnx.reference")
_TRIES = 24
"""The number of inputs that are tried."""
_SECONDS = 20.0
"""The time after which no further input is tried."""


def refusal_of_model(skeleton: Skeleton, samples: Samples | None, *, is_as_in_file: bool) -> str:
    """Why a runtime refuses to run the model on any input, for a message; "" where one runs it, or where none can tell.

    `is_as_in_file` says that the file of the skeleton, if it has one, holds this model unchanged.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, lent_worker() as worker:
        path = (skeleton.path if is_as_in_file else None) or stack.enter_context(stage(skeleton, Path(folder, "model.onnx"))).path
        for engine in _ENGINES:
            if importlib.util.find_spec(engine.partition(".")[0]):
                refusal = _refusal_in(engine, path, samples or Samples(), worker)
                if refusal is not None:
                    return refusal
    return ""


def _refusal_in(engine: str, path: Path, samples: Samples, worker: Worker) -> str | None:
    """Why `engine` refuses the model; "" where it runs it, None where that says nothing about the model."""
    described = worker.describe(path)
    if isinstance(described, Failure):
        return None
    refused: list[Failure] = []
    until = time.monotonic() + _SECONDS
    with worker.open(path, engine) as session:
        for data in samples.data or [{}]:
            space = InputSpace(described, described, samples, data)
            for choice in itertools.islice(space.choices(), _TRIES):
                try:
                    answer = session.run(space.make(choice))
                except (SampleError, RejectedError):
                    return None
                if not isinstance(answer, Failure):
                    return ""
                if not answer.certain or answer.kind in ("unsupported", "timeout", "memory"):
                    return None
                refused.append(answer)
                if answer.kind != "runtime" or time.monotonic() > until:
                    return _shown(engine, refused)
    return _shown(engine, refused) if refused else None


def _shown(engine: str, refused: list[Failure]) -> str:
    tried = f" on any inputs tried ({len(refused)})" if refused[0].kind == "runtime" else ""
    return f"{engine} cannot run it{tried}: {refused[0].message}"
