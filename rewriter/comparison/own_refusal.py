"""Finds out whether a model runs at all. If a conversion fails on a model that no runtime runs, the model is what is wrong."""

from __future__ import annotations

import itertools
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from ..execution.budget import Budget
from ..execution.engines import ENGINES, is_installed
from ..execution.messages import Failure, RejectedError
from ..execution.model_client import Worker, lent_worker
from ..storage import stage
from ..storage.skeleton import Skeleton
from .inputs.choice import SampleError
from .inputs.description import description_of
from .inputs.samples import InputSpace, Samples

_TRIES = 24
"""The number of inputs that are tried."""


class OwnRefusal(NamedTuple):
    """`runtime` refuses to run a model, with the first of its messages. `tried` is "", or says on how many inputs."""

    runtime: str
    tried: str
    message: str


def refusal_of_model(
    skeleton: Skeleton, samples: Samples | None, budget: Budget | None = None, *, is_as_in_file: bool
) -> OwnRefusal | None:
    """Why a runtime refuses to run the model on any input; None where one runs it within `budget`, or where none can tell.

    `is_as_in_file` says that the file of the skeleton, if it has one, holds this model unchanged.
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, lent_worker() as worker:
        path = (skeleton.path if is_as_in_file else None) or stack.enter_context(stage(skeleton, Path(folder, "model.onnx"))).path
        for engine in ENGINES:
            if is_installed(engine):
                refused = _refused_by(engine, path, samples or Samples(), worker, budget or Budget())
                if refused is not None:
                    tried = f" on any inputs tried ({len(refused)})"
                    return OwnRefusal(engine, tried * (refused[0].kind == "runtime"), refused[0].message) if refused else None
    return None


def _refused_by(engine: str, path: Path, samples: Samples, worker: Worker, budget: Budget) -> list[Failure] | None:
    """The refusals of `engine`, one for each input; none where it runs the model, None where it says nothing about the model."""
    described = description_of(worker, path)
    if isinstance(described, Failure):
        return None
    refused: list[Failure] = []
    with worker.within(budget), worker.open(path, engine) as session:
        for data in samples.data or [{}]:
            space = InputSpace(described, described, samples, data)
            for choice in itertools.islice(space.choices(), _TRIES):
                try:
                    answer = session.run(space.make(choice))
                except (SampleError, RejectedError):
                    return None
                if not isinstance(answer, Failure):
                    return []
                if not answer.certain or answer.kind in ("unsupported", "timeout", "memory"):
                    return None
                refused.append(answer)
                if answer.kind != "runtime" or budget.is_over:
                    return refused
    return refused or None
