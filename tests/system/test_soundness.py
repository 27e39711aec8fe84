"""What the program states about values, before a model runs, holds when it runs. `tests/fuzz/soundness.py` does this for all models."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from helpers import model
from opset_matrix import collect_cases
from soundness import Tally, check, check_case, check_random, check_shapes

from split_rewrite.rewriter.graph import declarations
from split_rewrite.rewriter.opsets import inference, partial

pytest.importorskip("onnxruntime")

FLOOR = {"type": 3000, "rank": 2500, "dimension": 2500, "symbol": 400, "entry": 2000, "constant": 400, "origin": 150}
"""The statements of each kind that the sample checks at least."""
OPERATORS = {"type": 100, "rank": 90, "dimension": 80}
"""The operators about whose outputs something of each kind is stated at least."""
UNKNOWN_STEPS = """g (float[3,4] x, int64[] k) => (int64[L] entries) <int64[1] first = {0}, int64[1] last = {9}> {
    part = Slice (x, first, last, first, k)
    s = Shape (part)
    entries = Slice (s, first, last, first, k)
}"""


def test_what_is_stated_holds() -> None:
    tally, random = Tally(), Random(0)
    cases = collect_cases()
    first = {case.operator: case for case in reversed(cases) if "_expanded" not in case.name}
    for case in first.values():
        check_case(case, tally, random, share=0.12)
    for seed in range(60):
        check_shapes(seed, tally)
    for seed in range(2):
        check_random(seed, tally)
    assert tally.contradictions == []
    counts = {kind: tally.of_kind(kind) for kind in FLOOR}
    assert all(counts[kind] >= least for kind, least in FLOOR.items()), counts
    assert all(len(tally.operators(kind)) >= least for kind, least in OPERATORS.items())


def contradictions(text: str, *samples: dict[str, object]) -> list[str]:
    tally = Tally()
    check(model(text, 13), list(samples), tally, "model")
    assert tally.runs
    return tally.contradictions


def cut_by(*steps: int) -> dict[str, object]:
    return {"x": np.zeros((3, 4), np.float32), "k": np.array(steps)}


def test_steps_that_are_not_known_are_not_absent() -> None:
    assert contradictions(UNKNOWN_STEPS, cut_by(1), cut_by(2)) == []


def test_an_evaluator_that_takes_unknown_for_absent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_has_unknown_steps", lambda *_: False)
    assert contradictions(UNKNOWN_STEPS, cut_by(2))


def test_an_evaluator_that_finds_another_entry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(partial._ENTRIES, "Gather", lambda operands, *_: operands[0][:1])
    text = "g (float[B,L] x) => (int64 y) <int64 last = {-1}> { s = Shape (x)\n y = Gather (s, last) }"
    (found,) = contradictions(text, {"x": np.zeros((3, 4), np.float32)})
    assert "its entries are 4, not ('B',)" in found


CLAIMS = "g (float[N,4] x, int64[K] s) => (int64[A] sizes) <float[N,2] h> { h = Reshape (x, s)\n sizes = Shape (h) }"
SIX_ROWS = {"x": np.ones((3, 4), np.float32), "s": np.array([6, 2])}


def test_a_symbol_that_is_only_claimed_is_not_a_size() -> None:
    assert contradictions(CLAIMS, SIX_ROWS) == []


def test_a_claim_that_is_taken_for_a_fact_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "_credible", lambda *_: {(0, "h")})
    monkeypatch.setattr(declarations, "_without_symbol", lambda dim: dim)
    (found, *_) = contradictions(CLAIMS, SIX_ROWS)
    assert "its shape is (6, 2), not ('N', 2): N is 3" in found
