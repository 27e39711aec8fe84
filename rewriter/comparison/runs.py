"""Runs of the two models of a comparison on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..execution.budget import Budget
from ..execution.effort import Effort
from ..execution.messages import Failure, Outputs
from ..execution.model_client import Worker
from .judging.declared_outputs import Contradiction

DISTINCT = 2
"""The number of samples of one size in which all elements differ: no constant has the numbers that a place has in both."""
_SAMPLE = 600_000.0
"""Nanoseconds for a sample, however small."""
_IN_A_ROW = 100_000.0
"""Nanoseconds for one of many runs, however small."""
_MADE, _COMPARED = 40.0, 50.0
"""Nanoseconds for each element of the inputs and of the outputs."""


class Run(NamedTuple):
    """One sample on which the original ran.

    `decides` is not empty if the sample was made for decisive values (see `deciding`): "odd" if it contains NaN or infinities.
    `doubt` has the outputs of the original that contradict their own declared shapes. A result that has the declared ones proves
    nothing then, because rules go by them. `is_distinct`: it is one of the two samples by `InputSpace.distinct`.
    """

    inputs: dict[str, Any]
    outputs: Outputs
    decides: Literal["", "usual", "odd"] = ""
    doubt: tuple[Contradiction, ...] = ()
    is_distinct: bool = False


class Efforts(NamedTuple):
    """What both models cost on inputs of `elements` elements, in nanoseconds of a usual machine."""

    original: Effort
    result: Effort
    elements: float

    @property
    def once(self) -> float:
        """Loading both models, and running each once in onnxruntime."""
        return self.original.load + self.result.load + self.runs("onnxruntime")

    def runs(self, engine: str) -> float:
        """Running both models once in `engine`."""
        return self.original.run(engine) + self.result.run(engine)

    @property
    def single(self) -> float:
        """Making inputs, and running the original on them in onnxruntime, with others in one message."""
        return _IN_A_ROW + self.elements * _MADE + self.original.onnxruntime

    def sample(self, engine: str) -> float:
        """Making inputs, running both models on them in `engine`, and comparing the outputs."""
        return _SAMPLE + self.elements * _MADE + max(self.original.elements, self.result.elements) * _COMPARED + self.runs(engine)


class Costs(NamedTuple):
    """What one run costs, and what may be spent on runs that explain a difference."""

    efforts: Efforts
    budget: Budget


class Pair(NamedTuple):
    """The model files of a comparison, and the worker that runs them."""

    original: Path
    result: Path
    worker: Worker
    costs: Costs | None = None

    def affordable(self, engine: str, runs: list[Run]) -> list[Run]:
        """The first of `runs`, those on which `engine` can run both models for half of what is left of the budget; one at least, if
        there is as much left. Their cost is subtracted.
        """
        if self.costs is None:
            return runs
        efforts, budget = self.costs
        each = efforts.runs(engine)
        chosen = runs[: budget.affords(each, 0.5) or min(budget.affords(each), 1)]
        budget.spend(each * len(chosen))
        return chosen

    def run_again(self, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs | Failure]:
        """Load the original, or another `model`, again, and return its outputs for the same inputs."""
        with self.worker.open(model or self.original, engine) as session:
            return [answer for _, answer in session.run_all(run.inputs for run in runs)]

    def outputs_again(self, engine: str, runs: list[Run], model: Path | None = None) -> list[Outputs] | None:
        """As `run_again`, or None where the model does not run on all inputs."""
        outputs = [answer for answer in self.run_again(engine, runs, model) if isinstance(answer, Outputs)]
        return outputs if len(outputs) == len(runs) else None


def saturated_nodes(outputs: Iterable[Outputs]) -> tuple[str, ...]:
    """The nodes that onnxruntime computes wrongly on this processor in a run that gave `outputs`; see `exact_products`."""
    return tuple(dict.fromkeys(node for each in outputs for node in each.saturated))


def with_outputs(runs: Iterable[Run], outputs: Iterable[Outputs]) -> list[Run]:
    """The same runs, with the outputs that another runtime or another model gave."""
    return [run._replace(outputs=answer) for run, answer in zip(runs, outputs, strict=True)]
