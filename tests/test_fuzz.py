"""Fuzzing in small: random models through the conversion and back, damaged files through the command line; what was found.

The long form is `tests/fuzz/run.py`.
"""

from __future__ import annotations

from random import Random

import hypothesis
from hypothesis import strategies as st
from mutations import mutated
from random_models import random_case
from split_rewrite.rewriter.isolate import run_isolated
from trials import FINDINGS, judge_case, judge_file

RANDOM = st.randoms(use_true_random=False)
SETTINGS = hypothesis.settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck)
)


@hypothesis.given(RANDOM)
@hypothesis.settings(SETTINGS, max_examples=80)
def test_a_random_model_is_converted_right_or_refused(random: Random) -> None:
    verdict = judge_case(random_case(random))
    assert verdict.kind not in FINDINGS, verdict.reason
    assert verdict.back not in FINDINGS, verdict.reason


@hypothesis.given(RANDOM, st.sampled_from(["latest", "7", "11", "13", "18"]))
@hypothesis.settings(SETTINGS, max_examples=60)
def test_a_damaged_file_is_converted_right_or_refused(random: Random, target: str) -> None:
    data = mutated(random, random_case(random).model.SerializeToString())
    verdict = run_isolated(judge_file, data, ["-t", target, "m.onnx", "o.onnx"], cpu_seconds=60)
    assert verdict.kind not in FINDINGS, verdict.reason
