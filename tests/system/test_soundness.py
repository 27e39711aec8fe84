"""What the program states about values, before a model runs, holds when it runs. `tests/fuzz/soundness.py` does this for all models."""

from __future__ import annotations

from random import Random

import numpy as np
import onnx.parser
import pytest
from helpers import model
from opset_matrix import collect_cases
from soundness import Tally, check, check_case, check_random, check_shapes

from split_rewrite.rewriter.execution.messages import Failure
from split_rewrite.rewriter.execution.model_client import Session
from split_rewrite.rewriter.opsets import misinferred, partial, stand_ins, type_protos
from split_rewrite.rewriter.structure import declarations

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
        check_case(case, tally, random, share=0.06)
    for seed in range(40):
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
    for module in (misinferred, stand_ins):
        monkeypatch.setattr(module, "has_unknown_steps", lambda *_: False)
    assert contradictions(UNKNOWN_STEPS, cut_by(2))


def test_an_evaluator_that_finds_another_entry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(partial._ENTRIES, "gather", lambda operands, *_: operands[0][:1])
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


DEFAULT = "g (float[N] x, float[N] c) => (float[] y) <float[1] c = {1}> { y = Abs (c) }"


def test_a_default_does_not_have_the_size_of_its_symbol() -> None:
    assert contradictions(DEFAULT, {"x": np.ones(3, np.float32)}) == []


def test_a_default_that_is_taken_for_its_symbol_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type_protos, "in_common", lambda declared, _: declared)
    assert contradictions(DEFAULT, {"x": np.ones(3, np.float32)})


def test_a_default_is_replaced() -> None:
    ones = np.ones(3, np.float32)
    assert contradictions(DEFAULT, {"x": ones, "c": ones}, {"x": ones[:1]}) == []


CLAIMED_BODIES = """<ir_version: 8, opset_import: ["" : 13, "f" : 1]>
    g (float[2,3] x, int64[2] s, bool b) => (float[] y) { y = f.either (x, s, b) }
    <opset_import: ["" : 13], domain: "f"> either (v, s, b) => (r) {
        r = If (b) <then_branch = t () => (float[7,3] a) <float[5,5] p> { p = Reshape (v, s)  a = Abs (p) },
                    else_branch = e () => (float[N,N] c) <float[5] q> { q = Reshape (v, s)  c = Exp (q) }>
    }"""
"""A function whose subgraphs declare shapes that no run has."""


def claimed_in_bodies() -> Tally:
    tally, x = Tally(), np.ones((2, 3), np.float32)
    samples = [{"x": x, "s": np.array([6, 1]), "b": np.array(taken)} for taken in (True, False)]
    check(onnx.parser.parse_model(CLAIMED_BODIES), samples, tally, "model", deep=True)
    assert tally.runs == 2
    return tally


def test_shapes_that_subgraphs_of_functions_declare_are_claims() -> None:
    assert claimed_in_bodies().contradictions == []


def test_shapes_that_subgraphs_of_functions_declare_are_found_if_they_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declarations, "_graphs", lambda proto: [proto.graph])
    assert any("its shape is (6, 1), not (7, 3)" in text for text in claimed_in_bodies().contradictions)


def test_a_model_on_which_the_runtime_crashes_has_no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "_ask", lambda *_: Failure("crashed", "signal SIGSEGV"))
    tally = Tally()
    check(model(DEFAULT, 13), [{"x": np.ones(1, np.float32)}], tally, "model")
    assert (tally.runs, tally.contradictions) == (0, [])


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 24, reason="the installed onnx has no opset 24")
@pytest.mark.parametrize(("batches", "runs"), [(1, 0), (2, 1)])
def test_an_attention_with_more_lengths_than_batches_is_no_run(batches: int, runs: int) -> None:
    tally, keys = Tally(), np.ones((batches, 2, 3, 4), np.float32)
    text = "g (float[N,2,3,4] q) => (float[] y) <int64[2] n = {3, 3}> { y = Attention (q, q, q, , , , n) }"
    check(model(text, 24), [{"q": keys}], tally, "model")
    assert (tally.runs, tally.contradictions) == (runs, [])


AXES_OF_ANY_RANK = """g (float[3,4,5] x, int64[] a) => (float[] y) <int64[2] s = {0, 1}, int64[2] e = {3, 4}> {
    y = Slice (x, s, e, a)
}"""


def test_axes_of_which_nothing_is_known_are_not_absent() -> None:
    source = model(AXES_OF_ANY_RANK, 13)
    source.graph.input[1].type.tensor_type.ClearField("shape")
    tally = Tally()
    check(source, [{"x": np.zeros((3, 4, 5), np.float32), "a": np.array(axes)} for axes in ([0, 1], [1, 2])], tally, "model")
    assert (tally.runs, tally.contradictions) == (2, [])
