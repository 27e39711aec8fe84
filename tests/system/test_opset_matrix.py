"""A fixed sample of the opset matrix, and the harness itself: crashes, time limits and the choice of the sample."""

from __future__ import annotations

import os
import signal
import time

import opset_matrix
import pytest
from onnx import ModelProto
from opset_matrix import OURS, TARGETS, VARIANTS, collect_cases, groups, jobs_for, run_jobs, sample, with_constants

MUST_NOT_HAPPEN = ("wrong", "invalid", "crash", "selfcheck")


@pytest.fixture(scope="module")
def cases() -> list[opset_matrix.Case]:
    return collect_cases()


@pytest.fixture
def one_job(cases: list[opset_matrix.Case]) -> list[opset_matrix.Job]:
    relu = next(case for case in cases if case.name == "test_relu")
    return jobs_for([relu], ["stamp"], (7, 9, 11), "as-given")


def test_a_sample_over_all_operators_is_right_or_refused(cases):
    jobs = [job for variant in VARIANTS for job in jobs_for(cases, [OURS], TARGETS, variant)]
    pairs = run_jobs(sample(jobs, 300), workers=2)
    bad = {outcome: groups(pairs, outcome) for outcome in MUST_NOT_HAPPEN}
    assert bad == dict.fromkeys(MUST_NOT_HAPPEN, "")
    assert sum(pair.outcome == "ok" for pair in pairs) > len(pairs) / 4


def test_the_sample_does_not_depend_on_the_order_of_the_cases(cases):
    forward, backward = (sample(jobs_for(some, [OURS], TARGETS, "as-given"), 50) for some in (cases[:300], cases[:300][::-1]))
    assert {pair for _, pairs in forward for pair in pairs} == {pair for _, pairs in backward for pair in pairs}


def test_the_sample_takes_every_operator_before_a_second_pair_of_any(cases):
    jobs = jobs_for(cases, [OURS], TARGETS, "as-given")
    operators = {pair.operator for _, pairs in jobs for pair in pairs}
    chosen = [pair.operator for _, pairs in sample(jobs, len(operators)) for pair in pairs]
    assert sorted(chosen) == sorted(operators)


def _die(model: ModelProto, target: int) -> ModelProto:
    if target == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return opset_matrix.convert_by_stamp(model, target)


def _hang(model: ModelProto, target: int) -> ModelProto:
    if target == 9:
        time.sleep(60)
    return opset_matrix.convert_by_stamp(model, target)


def _raise(model: ModelProto, target: int) -> ModelProto:
    raise KeyError("an exception that is no refusal")


@pytest.mark.parametrize(
    ("tool", "outcomes"),
    [
        pytest.param(_die, ["ok", "crash", "ok"], id="a-signal-costs-one-pair"),
        pytest.param(_hang, ["ok", "crash", "ok"], id="the-time-limit-costs-one-pair"),
        pytest.param(_raise, ["crash"] * 3, id="an-exception-is-no-refusal"),
    ],
)
def test_a_tool_that_fails_does_not_stop_the_matrix(one_job, tool, outcomes):
    pairs = run_jobs(one_job, workers=1, seconds_per_pair=4, tools={"stamp": tool})
    assert [pair.outcome for pair in pairs] == outcomes


def test_constants_replace_only_the_inputs_that_say_how(cases):
    slice_case = next(case for case in cases if case.name == "test_slice")
    constant = with_constants(slice_case)
    assert [entry.name for entry in constant.model.graph.input] == ["x"]
    assert [tensor.name for tensor in constant.model.graph.initializer] == ["starts", "ends", "axes", "steps"]
    add = next(case for case in cases if case.name == "test_add")
    assert with_constants(add) is add
