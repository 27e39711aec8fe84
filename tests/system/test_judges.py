"""A small sample of the examination of the runtimes, and what it finds. The long form is `tests/fuzz/judges.py`."""

from __future__ import annotations

from pathlib import Path

import helpers
import judges
import numpy as np
import pytest
from judges import STORED, Disagreement, Examined, enumerated, examine_all, node_tests

from split_rewrite.rewriter.opsets import facts

SAMPLE = "Resize|MaxUnpool|Softmax|LRN|OneHot"
"""Operators whose node tests are examined here: some of which runtimes disagree, and some of which they do not."""
ENUMERATED = (("LRN", 13), ("RNN", 14), ("MaxPool", 12), ("TfIdfVectorizer", 9), ("NonZero", 13))
SEMANTICS = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"


@pytest.fixture(scope="module")
def disagreements() -> list[Disagreement]:
    return examine_all(node_tests(SAMPLE))


def test_every_disagreement_about_a_node_test_has_a_name(disagreements: list[Disagreement]) -> None:
    assert [entry for entry in disagreements if not entry.named] == []
    assert {"MaxUnpool", "Resize", "Softmax"} == {entry.op_type for entry in disagreements}


def test_every_disagreement_about_an_enumerated_model_has_a_name() -> None:
    found = examine_all(model for entry in ENUMERATED for model in enumerated(*entry, seed=0, limit=6))
    assert [entry for entry in found if not entry.named] == []
    assert {"LRN", "MaxPool"} & {entry.op_type for entry in found}


def test_a_defect_without_a_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "known_defects", lambda _: {})
    found = examine_all(model for model in node_tests("Softmax") if model.opset == 11)
    assert {(entry.engine, entry.named) for entry in found} == {("onnx.reference", "")}


def test_stored_outputs_count_where_the_operator_has_the_same_text() -> None:
    tests = [model for model in node_tests("MaxUnpool") if "output_shape" in model.name]
    assert all(model.expected is not None for model in tests if model.opset >= 11)
    found = [entry for entry in examine_all(tests) if entry.engine == "onnxruntime" and entry.other == STORED]
    assert found and all(entry.named.startswith("takes the indices of a MaxUnpool") for entry in found)


def test_runtimes_that_agree_are_no_disagreement() -> None:
    proto = helpers.model("g (float[2] x) => (float[2] y) {y = Neg(x)}", 13)
    right = Examined("Neg", "Neg", 13, proto, {"x": np.float32([1, 2])}, [np.float32([-1, -2])])
    assert examine_all([right]) == []
    (wrong, also) = examine_all([right._replace(expected=[np.float32([-1, 2])])])
    assert (wrong.engine, also.engine, wrong.version, wrong.named) == ("onnxruntime", "onnx.reference", 13, "")


def test_every_operator_of_two_meanings_is_documented() -> None:
    text = SEMANTICS.read_text(encoding="utf-8")
    assert [name for name in sorted(facts.with_word("disputed")) if f"`{name}`" not in text] == []
