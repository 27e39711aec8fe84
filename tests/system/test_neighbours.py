"""A sample of nodes that combine neighbours: the comparison finds right results equal. The long form is `tests/fuzz/neighbours.py`."""

from __future__ import annotations

from random import Random

import neighbours
import numpy as np
import pytest
from neighbours import FINDINGS, Case, explore
from trials import private_folder

from split_rewrite.rewriter import CompareError

pytest.importorskip("onnxruntime")
SAMPLE = 12
"""Operators of which one model is tried."""
RESIZES = 8
"""Models of each of two versions of Resize."""


def _found(cases: list[Case]) -> list[neighbours.Finding]:
    with private_folder() as folder, np.errstate(all="ignore"):
        return [finding for case in cases for finding in explore(case, folder)]


def _sample() -> list[Case]:
    chosen = Random(1).sample(neighbours.operators(), SAMPLE)
    newest = {name: max(neighbours.versions()[name]) for name in chosen}
    return [case for name, version in newest.items() for case in neighbours.models(name, version, seed=0, limit=1)]


def test_a_sample_is_found_equal() -> None:
    found = _found([*_sample(), *(case for version in (13, 18) for case in neighbours.resizes(version, 0, RESIZES))])
    assert [finding for finding in found if finding.outcome in FINDINGS] == []
    assert sum(finding.outcome == "equal" for finding in found) > len(found) / 4


def test_an_alarm_is_told_from_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    right = neighbours.convert_version
    becomes: list[str] = []

    def as_sum(model: object, target: int, **options: object) -> object:
        """A conversion that is right, or a mean that became a sum, with a comparison that finds either different."""
        if "compare" not in options:
            raise CompareError("planted")
        result = right(model, target, **options)  # type: ignore[call-overload]
        result.model.graph.node[-1].op_type = becomes[0]
        return result

    monkeypatch.setattr(neighbours, "convert_version", as_sum)
    cases = [case for case in neighbours.models("ReduceMean", 18, 0, 20) if "x0" in case.feeds and case.feeds["x0"].size > 1]
    case = next(case for case in cases if case.feeds["x0"].dtype == np.float32 and len(case.feeds) == 1)
    for planted, outcome in (("ReduceMean", "alarm"), ("ReduceSum", "wrong")):
        becomes[:] = [planted]
        assert {finding.outcome for finding in _found([case]) if finding.target == 17} == {outcome}


def test_every_kind_of_neighbour_is_tried() -> None:
    expected = {"Resize", "AveragePool", "Conv", "GridSample", "RoiAlign", "MatMul", "MatMulInteger", "ReduceSum", "CumSum"}
    assert expected <= set(neighbours.operators())
