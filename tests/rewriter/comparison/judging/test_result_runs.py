"""Runs of the result: samples under which the original breaks its own declaration may prove nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

from split_rewrite.rewriter.comparison.judging.declared_outputs import Contradiction
from split_rewrite.rewriter.comparison.judging.result_runs import have_other_shapes, run_result
from split_rewrite.rewriter.comparison.runs import Run
from split_rewrite.rewriter.comparison.verdicts import Comparison, Inconclusive
from split_rewrite.rewriter.execution.messages import Failure, Outputs
from split_rewrite.rewriter.execution.model_client import Session


def outputs(size: int) -> Outputs:
    return Outputs(("y",), (np.zeros(size),), "test 1")


def run(size: int, declared: int | None = None) -> Run:
    doubt = () if declared is None else (Contradiction("y", (declared,), (size,)),)
    return Run({"n": size}, outputs(size), doubt=doubt)


class Fake:
    """A session that gives, for each input `n`, an output of that size or what `of` says; it notes what it ran."""

    def __init__(self, of: dict[int, Outputs | Failure] | None = None) -> None:
        self.of = of or {}
        self.ran: list[int] = []

    def run_all(self, samples: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Outputs | Failure]]:
        for inputs in samples:
            self.ran.append(inputs["n"])
            yield inputs, self.of.get(inputs["n"], outputs(inputs["n"]))


def answers(fake: Fake, *runs: Run) -> tuple[list[int], list[int] | Comparison | Inconclusive]:
    kept, found = run_result(cast("Session", fake), "onnxruntime", list(runs))
    return [run.inputs["n"] for run in kept], [len(one.values[0]) for one in found] if isinstance(found, list) else found


def test_each_sample_is_run_once_and_in_order() -> None:
    fake = Fake()
    assert answers(fake, run(1), run(2, declared=3), run(4)) == ([1, 2, 4], [1, 2, 4])
    assert sorted(fake.ran) == [1, 2, 4]


def test_a_doubtful_sample_goes_where_the_result_fails_or_gives_the_declared_size() -> None:
    misled = Fake({2: outputs(3), 5: Failure("runtime", "no")})
    assert answers(misled, run(1), run(2, declared=3), run(5, declared=6)) == ([1], [1])


def test_doubtful_samples_alone_stay() -> None:
    assert answers(Fake({2: outputs(3)}), run(2, declared=3)) == ([2], [3])


def test_failures() -> None:
    _, different = answers(Fake({1: Failure("runtime", "no")}), run(1))
    assert isinstance(different, Comparison) and different.status == "different"
    _, lacks = answers(Fake({1: Failure("unsupported", "no")}), run(1))
    assert isinstance(lacks, Inconclusive) and lacks.refused
    _, slow = answers(Fake({1: Failure("timeout", "no")}), run(1))
    assert isinstance(slow, Inconclusive) and slow.final


def test_other_shapes() -> None:
    assert have_other_shapes([run(1)], [outputs(2)])
    assert not have_other_shapes([run(1)], [outputs(1)])
