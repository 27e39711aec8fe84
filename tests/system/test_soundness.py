"""What the program states about values, before a model runs, holds when it runs. `tests/fuzz/soundness.py` does this for all models."""

from __future__ import annotations

from random import Random

import numpy as np
import onnx
import pytest
from helpers import model
from opset_matrix import collect_cases
from soundness import Tally, check, check_case, check_random, check_shapes, weaker

from split_rewrite.rewriter.graph import declarations
from split_rewrite.rewriter.opsets import inference, partial

pytest.importorskip("onnxruntime")

FLOOR = {"type": 3000, "rank": 2500, "dimension": 2500, "symbol": 400, "entry": 2000, "constant": 400, "origin": 150}
"""The statements of each kind that the sample checks at least."""
OPERATORS = {"type": 100, "rank": 90, "dimension": 80}
"""The operators about whose outputs something of each kind is stated at least."""
UNKNOWN_STEPS = """g (float[B,4] x, int64[K] k) => (float[P,Q] y) <int64[1] first = {0}, int64[1] last = {9}> {
    s = Shape (x)
    part = Slice (s, first, last, first, k)
    y = ConstantOfShape (part)
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
    monkeypatch.setitem(partial._ENTRIES, "Slice", lambda operands, *_: operands[0])
    assert contradictions(UNKNOWN_STEPS, cut_by(2))


def test_an_evaluator_that_finds_another_entry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(partial._ENTRIES, "Gather", lambda operands, *_: operands[0][:1])
    text = "g (float[B,L] x) => (int64 y) <int64 last = {-1}> { s = Shape (x)\n y = Gather (s, last) }"
    (found,) = contradictions(text, {"x": np.zeros((3, 4), np.float32)})
    assert "its entries are 4, not ('B',)" in found


CLAIMS = "g (float[N,4] x) => (int64[A] sizes) <int64[N,N] where> { where = NonZero (x)\n sizes = Shape (where) }"


def test_a_symbol_that_is_only_claimed_is_not_a_size() -> None:
    assert contradictions(CLAIMS, {"x": np.eye(4, dtype=np.float32)[:3]}) == []


def test_a_claim_that_is_taken_for_a_fact_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "_credible", lambda *_: {(0, "where")})
    monkeypatch.setattr(declarations, "_without_symbol", lambda dim: dim)
    monkeypatch.setattr(declarations, "_opened", lambda dim: dim)
    text = CLAIMS.replace("[N,N]", "[N,7]").replace("NonZero (x)", "Compress (x, c)").replace("float[N,4] x", "int64[N,M] x, bool[K] c")
    text = text.replace("Compress (x, c)", "Compress <axis = 0> (x, c)")
    sample = {"x": np.zeros((3, 7), np.int64), "c": np.array([True, False, True])}
    assert any("not ('N'" in found for found in contradictions(text, sample))


def test_every_weaker_model_is_valid() -> None:
    case = next(case for case in collect_cases("Slice") if case.name == "test_slice")
    for label, other, samples in weaker(case.model, case.feeds, Random(0)):
        onnx.checker.check_model(other)
        assert label and samples
