"""Runs of the original: as many samples as are wanted, or why there are none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from split_rewrite.rewriter.comparison.inputs.choice import Choice
from split_rewrite.rewriter.comparison.inputs.description import Description, description_of
from split_rewrite.rewriter.comparison.inputs.original_runs import Plan, _Attempts, explain, run_edges, run_samples
from split_rewrite.rewriter.comparison.inputs.samples import InputSpace, Samples
from split_rewrite.rewriter.comparison.runs import Run
from split_rewrite.rewriter.comparison.verdicts import Inconclusive
from split_rewrite.rewriter.execution.budget import Budget
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Worker

Save = Callable[..., Path]
FIXED = "g (float[2,4] x) => (float[2,4] y) { y = Relu(x) }"
OPEN = "g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"
NEVER = "g (float[2,4] x) => (float[3] y) <int64[1] s = {3}> { y = Reshape(x, s) }"
NAN = "g (float[2,4] x) => (float[2,4] y) <float z = {0.0}> { m = Mul(x, z) y = Div(m, m) }"


def runs_of(path: Path, worker: Worker, *, thorough: bool = False) -> list[Run] | Inconclusive:
    described = description_of(worker, path)
    assert isinstance(described, Description)
    with worker.open(path) as session:
        return run_samples(
            session, "onnxruntime", [InputSpace(described, described, Samples())], thorough, Plan(sys.maxsize, 0.0, Budget())
        )


@pytest.mark.parametrize(("text", "count"), [(FIXED, 1), (OPEN, 2), (NAN, 1)], ids=["fixed", "open", "nan-alone"])
def test_as_many_samples_as_sizes_need(save: Save, worker: Worker, text: str, count: int) -> None:
    found = runs_of(save(text), worker)
    assert isinstance(found, list) and len(found) == count


def test_a_thorough_comparison_has_decisive_values(save: Save, worker: Worker) -> None:
    found = runs_of(save(OPEN), worker, thorough=True)
    assert isinstance(found, list)
    assert {run.decides for run in found} == {"", "usual", "odd"}


def test_no_more_inputs_are_made_than_are_planned(save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of a large model take longer to be made than the model to run."""
    made: list[object] = []
    make = InputSpace.make
    monkeypatch.setattr(InputSpace, "make", lambda *given: made.append(given) or make(*given))
    described = description_of(worker, path := save(FIXED))
    assert isinstance(described, Description)
    with worker.open(path) as session:
        space = InputSpace(described, described, Samples())
        found = run_samples(session, "onnxruntime", [space], True, Plan(1, 0.0, Budget()))
    assert isinstance(found, list) and len(found) == len(made) == 1


def test_inputs_that_fail_are_not_made_larger_than_the_budget_allows(
    save: Save, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of four open dimensions that no usual input fits: with 224 for each, an input would have 2.5e9 elements."""
    sizes: list[int] = []
    make = InputSpace.make

    def recording(self: InputSpace, choice: Choice, *room: int) -> dict[str, Any]:
        inputs = make(self, choice, *room)
        sizes.append(sum(value.size for value in inputs.values()))
        return inputs

    monkeypatch.setattr(InputSpace, "make", recording)
    text = "g (float[a,b,c,d] x) => (float[3] y) <int64[1] s = {7}> { y = Reshape(x, s) }"
    described = description_of(worker, path := save(text))
    assert isinstance(described, Description)
    with worker.open(path) as session:
        space = InputSpace(described, described, Samples())
        found = run_samples(session, "onnxruntime", [space], True, Plan(sys.maxsize, 0.0, Budget(0.02)))
    assert isinstance(found, Inconclusive)
    assert sizes and max(sizes) < 0.01e9 / 80


def test_why_there_are_none(save: Save, worker: Worker) -> None:
    found = runs_of(save(NEVER), worker)
    assert isinstance(found, Inconclusive)
    assert found.reason.startswith("onnxruntime cannot run the original on any inputs tried")
    assert found.hint == "give other inputs by --test-input-shape or --input-data; they are x float32[2,4]"


def test_edges(save: Save, worker: Worker) -> None:
    path = save("g (float[n] x, float[m] z) => (float[k] y) { y = Add(x, z) }")
    described = description_of(worker, path)
    assert isinstance(described, Description)
    space = InputSpace(described, described, Samples())
    found = run_edges(worker.open(path), space, space.edges())
    assert [[np.size(value) for value in run.inputs.values()] for run in found] == [[1, 3], [3, 1]]


def test_a_number_to_compare_with_may_be_one_of_many() -> None:
    """An input has one element in the first sample, and two in another one, which has the number already."""
    numbers = [np.zeros(1), np.array([7.0, 7.0])]
    space: Any = SimpleNamespace(conditions=lambda _: [("k", 7.0)], has_open_sizes=True)
    session: Any = None  # nothing is missing, so nothing is run
    attempts = _Attempts(session, space, True, Plan(sys.maxsize, 0.0, Budget()))
    attempts._good = {Choice(index): Run({"k": each}, Outputs(("y",), (each,), "")) for index, each in enumerate(numbers)}
    assert attempts._on_conditions() == {}


def test_the_kind_of_a_failure_is_said_where_its_message_does_not() -> None:
    assert explain(Failure("crashed", "signal SIGSEGV")) == "it crashed, signal SIGSEGV"
    assert explain(Failure("runtime", "bad shape")) == "bad shape"


def test_long_inputs_are_made_only_where_the_original_ran_on_none(save: Save, worker: Worker) -> None:
    """The outputs contradict their symbol on all inputs, and one of 1024 for each dimension would be too big to be made."""
    path = save("g (bool[a,b,c,d] x) => (bool[a,b,c,d] y) { y = Concat<axis = 1>(x, x) }")
    found = runs_of(path, worker, thorough=True)
    assert isinstance(found, list) and len(found) > 1
    front = save(
        "g (float[n] x) => (float[400] y) <int64[1] low = {0}, int64[1] high = {400}, int64[1] to = {400}> "
        "{ part = Slice(x, low, high) y = Reshape(part, to) }"
    )
    found = runs_of(front, worker)
    assert isinstance(found, list) and {run.inputs["x"].size for run in found} == {1024}
