"""Runs the original on inputs until it has run on enough of them, so that the result can be run on the same."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from ...execution.budget import Budget
from ...execution.messages import Failure, Outputs, RejectedError
from ...execution.model_client import Session
from ...execution.values import byte_size
from ..judging.differences import is_nan_throughout
from ..runs import Run
from ..verdicts import Inconclusive
from .choice import Choice, SampleError
from .samples import LONG, InputSpace
from .search import MOST_RUNS, Search, Tried

_SAMPLES = 2
"""The number of choices of open dimensions: an even and an odd one tell sizes from rules for sizes."""
_THOROUGH_SAMPLES = 10
"""The number of samples of a thorough comparison, which tries other integers and signs too: a position that is always 0 would not
tell one from another.
"""
_FOR_USUAL = 3
"""One of this number of samples is a usual one where few are planned; the others are made for decisive values."""
_FOR_SEARCH = 0.25
"""The share of the budget for a search."""
_MANY_BYTES = 64 << 20
"""Bytes of outputs after which no more samples are run than have to be: all are held until the result has run too."""
_CRASHES = 3
"""The number of crashes after which no other inputs are tried: each costs a new child."""
_FAILURES_AFTER_SUCCESS = 6
"""The number of further failures after which no second sample is looked for."""
_PATIENCE_WITH_REFERENCE = 24
"""The number of failures after which onnx.reference, which is asked where onnxruntime ran nothing, is given no further inputs."""
_FOR_ELEMENT = 80.0
"""Nanoseconds for making an element of an input, and handing it to the process that runs the model."""
_RUNS_FOR_SYMBOLS = 300
"""The number of runs of a search for outputs whose shapes have the declared symbols, which may be mere words."""


class Plan(NamedTuple):
    """How many samples are run, within the `budget`. One run of the original costs `single` nanoseconds of it."""

    most: int
    single: float
    budget: Budget


def run_samples(session: Session, engine: str, spaces: list[InputSpace], thorough: bool, plan: Plan) -> list[Run] | Inconclusive:
    """Run the original on every sample that the user gave. If one cannot be run, all remain undecided."""
    runs: list[Run] = []
    for number, space in enumerate(spaces, 1):
        found = _Attempts(session, space, thorough, plan).runs(engine)
        if isinstance(found, Inconclusive):
            return found if len(spaces) == 1 else found._replace(reason=f"sample {number}: {found.reason}")
        runs += found
    return runs


def most_samples(space: InputSpace, thorough: bool) -> int:
    """The number of samples that are run where the budget allows them all."""
    if not thorough:
        return _SAMPLES if space.has_open_sizes else 1
    choices = space.choices()
    return min(_THOROUGH_SAMPLES, len(choices)) + len(space.deciding(choices[:1]))


def run_edges(opened: AbstractContextManager[Session], space: InputSpace, choices: list[Choice]) -> list[Run]:
    """Run the original on these choices of sizes, as far as it accepts them. None are tried after a crash."""
    runs: list[Run] = []
    with opened as session:
        for choice in choices:
            try:
                inputs = space.make(choice)
            except (SampleError, RejectedError):
                break
            answer = session.run(inputs)
            if isinstance(answer, Outputs) and not space.contradictions(inputs, answer):
                runs.append(Run(inputs, answer))
            if isinstance(answer, Failure) and answer.kind in ("crashed", "timeout", "memory"):
                break
    return runs


def hint_at_inputs(space: InputSpace) -> str:
    """What the user can do where no inputs were found that prove anything."""
    return f"give other inputs by --test-input-shape or --input-data; they are {space.summary}"


def explain(failure: Failure) -> str:
    """The message of a failure, behind its kind where the message does not say it."""
    what = {"crashed": "it crashed, ", "memory": "out of memory, "}
    return what.get(failure.kind, "") + failure.message


class _Attempts:
    """The inputs of one sample on which the original was run, sorted by what came of them."""

    def __init__(self, session: Session, space: InputSpace, thorough: bool, plan: Plan) -> None:
        self._session = session
        self._space = space
        self._thorough = thorough
        self._plan = plan
        self._needed = min(_SAMPLES if space.has_open_sizes else 1, plan.most)
        self._wanted = max(self._needed, min(_THOROUGH_SAMPLES, plan.most // _FOR_USUAL)) if thorough else self._needed
        self._good: dict[Hashable, Run] = {}
        self._held = 0
        self._without_numbers: list[Run] = []
        self._failures: list[Failure] = []
        self._unfit: list[Tried] = []
        self._by_word: dict[Hashable, Run] = {}
        self._doubtful: dict[Hashable, Run] = {}
        self._patience = sys.maxsize

    def runs(self, engine: str) -> list[Run] | Inconclusive:
        """Runs of the original that are enough for a comparison. If none gives numbers, one that gives NaN."""
        self._patience = sys.maxsize if engine == "onnxruntime" else _PATIENCE_WITH_REFERENCE
        problem = self._try_choices()
        if problem is not None:
            return list(self._good.values()) or self._without_numbers[:1] or problem
        if not self._good and not self._without_numbers and _may_be_found(self._failures):
            self._good = self._search()
        by_symbols = bool(self._good)
        if not self._good:
            self._good = dict(itertools.islice(self._by_word.items(), self._wanted))
        if not self._good and self._doubtful and not self._without_numbers:
            return list(itertools.islice(self._doubtful.values(), self._wanted))
        return self._completed(by_symbols) or self._without_numbers[:1] or self._why_it_failed(engine)

    def _try_choices(self) -> Inconclusive | None:
        """Run the original on the usual choices, until enough of them fit; or return why no more can be made."""
        for number, choice in enumerate(self._space.choices()):
            key = choice if self._thorough else (choice.size, choice.rank)
            if key in self._good or (number and not self._is_worth_making(choice)):
                continue
            try:
                inputs = self._space.make(choice)
            except (SampleError, RejectedError) as error:
                if number:
                    continue
                return Inconclusive(str(error), final=True, hint=hint_at_inputs(self._space))
            answer = self._session.run(inputs)
            if self._plan.budget.is_over and self._good:
                return None
            if isinstance(answer, Failure):
                self._note_failure(choice, inputs, answer)
                self._plan.budget.spend(self._cost_of(choice))
                if self._plan.budget.is_over or _is_hopeless(self._failures) or len(self._failures) >= self._patience:
                    return None
            elif self._fits(key, choice, inputs, answer) and self._are_enough:
                return None
        return None

    def _is_worth_making(self, choice: Choice) -> bool:
        """Whether what is left suffices for making these inputs, which may be far larger than the first ones; and long ones only
        where the original ran on none.
        """
        has_run = self._good or self._by_word or self._doubtful or self._without_numbers
        return not (choice.size == LONG and has_run) and self._plan.budget.affords(self._cost_of(choice)) > 0

    def _cost_of(self, choice: Choice) -> float:
        """The nanoseconds that it takes to make the inputs."""
        return _FOR_ELEMENT * sum(map(math.prod, self._space.shapes(choice).values()))

    def _note_failure(self, choice: Choice, inputs: dict[str, Any], failure: Failure) -> None:
        self._failures.append(failure)
        self._unfit.append(Tried(choice, inputs, failure))

    def _fits(self, key: Hashable, choice: Choice, inputs: dict[str, Any], outputs: Outputs) -> bool:
        """Note a run of the original. Returns whether it gave numbers, in the shapes that it declares."""
        if self._space.contradictions(inputs, outputs):
            self._unfit.append(Tried(choice, inputs, outputs))
            certain = self._space.contradictions(inputs, outputs, by_symbols=False)
            run = Run(inputs, outputs, doubt=tuple(certain))
            (self._doubtful if certain else self._by_word).setdefault(key, run)
            return False
        run = Run(inputs, outputs)
        if any(map(is_nan_throughout, outputs.values)):
            self._without_numbers.append(run)
            return False
        self._good[key] = run
        self._held += sum(map(byte_size, outputs.values))
        self._patience = len(self._failures) + _FAILURES_AFTER_SUCCESS
        return True

    @property
    def _are_enough(self) -> bool:
        count = len(self._good)
        return count == self._wanted or (count >= self._needed and self._held > _MANY_BYTES)

    def _search(self) -> dict[Hashable, Run]:
        """Look for inputs that the original takes, from inputs that do not fit."""
        with self._session.numbered() as numbered:
            search = self._searching(numbered, _RUNS_FOR_SYMBOLS if self._by_word else MOST_RUNS)
            return _runs_of(search.run(self._unfit, self._wanted))

    def _searching(self, session: Session, most: int) -> Search:
        """A search of at most as many runs as the budget allows."""
        budget = self._plan.budget
        runs = min(most, budget.affords(self._plan.single, _FOR_SEARCH))
        return Search(session, self._space, budget, runs)

    def _completed(self, by_symbols: bool) -> list[Run]:
        """The good runs. In a thorough comparison, also those that decisive numbers need, unless outputs are large."""
        if self._thorough and self._held <= _MANY_BYTES:
            self._good |= self._on_conditions()
        choices = [key for key in self._good if isinstance(key, Choice)]
        usual = [*self._good.values(), *self._on_distinct_elements(choices[:1])]
        if self._thorough and usual and self._held <= _MANY_BYTES:
            usual += self._on_decisive_values(choices, by_symbols=by_symbols)
        return usual

    def _on_conditions(self) -> dict[Hashable, Run]:
        """Look for inputs with each number on which a comparison in the model depends, and which no sample has."""
        runs = self._good
        tried = [Tried(choice, run.inputs, run.outputs) for choice, run in runs.items() if isinstance(choice, Choice)] + self._unfit
        conditions = self._space.conditions(tried[0].inputs) if tried else []
        given = [run.inputs for run in runs.values()]
        missing = [(name, number) for name, number in conditions if not any(np.all(inputs[name] == number) for inputs in given)]
        if not missing:
            return {}
        with self._session.numbered() as numbered:
            search = self._searching(numbered, MOST_RUNS)
            return _runs_of([found for name, number in missing for found in search.run_with(name, number, tried)])

    def _on_distinct_elements(self, choices: list[Choice]) -> list[Run]:
        """Run the original on samples whose elements all differ, if the models only carry them."""
        samples = [sample for choice in choices for sample in self._space.distinct(choice)]
        answers = self._session.run_all(samples if len(self._good) < self._plan.most else [])
        return [
            Run(inputs, answer, is_distinct=True)
            for inputs, answer in answers
            if isinstance(answer, Outputs) and not self._space.contradictions(inputs, answer)
        ]

    def _on_decisive_values(self, usual: list[Choice], *, by_symbols: bool) -> list[Run]:
        """Run the original on samples made for decisive values, as far as it accepts them.

        `by_symbols` says whether symbols in the declared shapes of outputs have to hold.
        """
        runs: list[Run] = []
        crashes = 0
        wanted = self._space.deciding(usual, max(self._plan.most - len(self._good), 0))
        firsts = self._session.run_all(self._space.make(ways[0]) for ways in wanted)
        for ways, first in zip(wanted, firsts, strict=True):
            others = self._session.run_all(map(self._space.make, ways[1:]))
            run: Run | None = None
            for choice, (inputs, answer) in zip(ways, itertools.chain([first], others), strict=True):
                if isinstance(answer, Outputs):
                    broken = self._space.contradictions(inputs, answer, by_symbols=by_symbols)
                    run = Run(inputs, answer, "odd" if choice.is_odd else "usual", doubt=tuple(broken))
                    if not broken:
                        break
                    continue
                crashes += answer.kind == "crashed"
                if crashes == _CRASHES or answer.kind == "timeout":
                    return runs
            if run is not None:
                runs.append(run)
                self._held += sum(map(byte_size, run.outputs.values))
            if self._held > _MANY_BYTES:
                break
        return runs

    def _why_it_failed(self, engine: str) -> Inconclusive:
        first, last = self._failures[0], self._failures[-1]
        if last.kind in ("timeout", "memory"):
            return Inconclusive(f"{engine} on the original: {explain(last)}", final=True)
        if first.kind != "runtime":
            return Inconclusive(f"{engine} cannot run the original: {explain(first)}")
        tried = "the given inputs" if self._space.is_given else f"any inputs tried ({len(self._failures)})"
        return Inconclusive(f"{engine} cannot run the original on {tried}: {first.message}", hint=hint_at_inputs(self._space))


def _runs_of(found: list[Tried]) -> dict[Hashable, Run]:
    taken = ((tried.choice, tried.inputs, tried.answer) for tried in found if isinstance(tried.answer, Outputs))
    return {choice: Run(inputs, answer, "usual" if choice.style else "") for choice, inputs, answer in taken}


def _may_be_found(failures: list[Failure]) -> bool:
    """Whether a search may find inputs that the original takes: none of these failures has to do with the model itself.

    On some inputs, a runtime says that it does not support what it supports for others.
    """
    crashes = sum(failure.kind == "crashed" for failure in failures)
    is_of_inputs = all(failure.kind in ("runtime", "crashed", "unsupported") for failure in failures)
    return crashes < _CRASHES and is_of_inputs and (not failures or failures[0].kind == "runtime")


def _is_hopeless(failures: list[Failure]) -> bool:
    """Whether it is useless to try other inputs, because they would fail too."""
    crashes = sum(failure.kind == "crashed" for failure in failures)
    return crashes == _CRASHES or failures[-1].kind in ("unsupported", "invalid", "timeout", "memory")
