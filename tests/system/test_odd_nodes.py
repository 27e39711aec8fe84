"""A sample of node tests with something odd about them. The long form is `tests/fuzz/odd_nodes.py`."""

from __future__ import annotations

import odd_nodes
import pytest
from odd_nodes import FINDINGS, Found, Source, explore, mutants, node_tests, sample

from split_rewrite.rewriter.opsets.transitions import newest_opset

TARGETS = (7, 16)
SAMPLE = 24
"""Operators of which one mutant is tried."""


def _source(operator: str, name: str) -> Source:
    return next(source for source in node_tests(operator) if source.name == name)


def test_a_sample_is_right_or_refused() -> None:
    found = [each for source, mutant in sample(list(node_tests()), SAMPLE) for each in explore(source, TARGETS, [mutant])]
    assert [each for each in found if each.outcome in FINDINGS] == []
    assert sum(each.outcome == "converted" for each in found) > len(found) / 10


@pytest.mark.parametrize(
    ("operator", "test", "change", "outcome"),
    [
        pytest.param("Einsum", "test_einsum_batch_matmul", "one at 0 of 0", "converted", id="broadcast-batch"),
        pytest.param("Einsum", "test_einsum_batch_matmul", "one at 2 of 0", "converted", id="broadcast-sum"),
        pytest.param("Einsum", "test_einsum_batch_matmul", "shorter at 2 of 0", "refused", id="lengths-that-differ"),
        *(
            pytest.param("RMSNormalization", "test_rms_normalization_2d_axis0", "stash_type 0", "converted", id="stash-type")
            for _ in range(newest_opset() >= 23)
        ),
        pytest.param("CenterCropPad", "test_center_crop_pad_crop", "shorter at 0 of 1", "invalid", id="shape-of-other-axes"),
    ],
)
def test_what_becomes_of_a_mutant(operator: str, test: str, change: str, outcome: str) -> None:
    source = _source(operator, test)
    chosen = [mutant for mutant in mutants(source) if mutant.name == f"{test}/given/{change}"]
    assert {each.outcome for each in explore(source, (9, 11), chosen)} == {outcome}


def test_a_rule_that_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(odd_nodes, "convert_version", fail)
    source = _source("Relu", "test_relu")
    nothing = next(mutants(source))
    assert explore(source, [7], [nothing]) == [Found(nothing.name, "Relu", 7, "internal", "KeyError: 'planted'")]


def test_every_kind_of_change_is_made() -> None:
    source = _source("Slice", "test_slice_neg")
    kinds = {mutant.name.split("/", 1)[1].rstrip("-0123456789") for mutant in mutants(source)}
    assert {"given/scalar ", "constant/scalar ", "given/none at 0 of ", "given/no input ", "given/matrix "} <= kinds
