"""Runs of the two models of a comparison on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..judging.declared_outputs import Contradiction
from .messages import Failure, Outputs
from .model_client import Worker


class Run(NamedTuple):
    """One sample on which the original ran.

    `decides` is not empty if the sample was made for decisive values (see `deciding`): "odd" if it contains NaN or infinities.
    `doubt` has the outputs of the original that contradict their own declared shapes. A result that has the declared ones proves
    nothing then, because rules go by them.
    """

    inputs: dict[str, Any]
    outputs: Outputs
    decides: Literal["", "usual", "odd"] = ""
    doubt: tuple[Contradiction, ...] = ()


class Pair(NamedTuple):
    """The model files of a comparison, and the worker that runs them."""

    original: Path
    result: Path
    worker: Worker

    def run_again(self, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs | Failure]:
        """Load the original, or another `model`, again, and return its outputs for the same inputs."""
        with self.worker.open(model or self.original, engine) as session:
            return [answer for _, answer in session.run_all(run.inputs for run in runs)]

    def outputs_again(self, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs] | None:
        """As `run_again`, or None where the model does not run on all inputs."""
        outputs = [answer for answer in self.run_again(engine, runs, model) if isinstance(answer, Outputs)]
        return outputs if len(outputs) == len(runs) else None


def with_outputs(runs: Iterable[Run], outputs: Iterable[Outputs]) -> list[Run]:
    """The same runs, with the outputs that another runtime or another model gave."""
    return [run._replace(outputs=answer) for run, answer in zip(runs, outputs, strict=True)]
