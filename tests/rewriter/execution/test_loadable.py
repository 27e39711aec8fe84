"""Which opsets the installed onnxruntime loads, and when a warning says so."""

from __future__ import annotations

import pytest

from split_rewrite.rewriter.execution import loadable
from split_rewrite.rewriter.opsets.transitions import newest_opset


@pytest.mark.parametrize("newest", [None, 23])
def test_nothing_is_tried_for_opsets_that_all_load(monkeypatch: pytest.MonkeyPatch, newest: int | None) -> None:
    monkeypatch.setattr(loadable, "newest_loadable", lambda: newest)
    assert [loadable.not_loaded(opset) for opset in (None, 13, 21)] == ["", "", ""]


def test_a_newer_opset_than_the_runtime_loads_gets_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loadable, "newest_loadable", lambda: 23)
    assert loadable.not_loaded(23) == ""
    assert loadable.not_loaded(24) == "the installed onnxruntime does not load opset 24, but 23 and older"
    assert loadable.latest_opset() == 23


def test_without_a_runtime_the_latest_opset_is_the_newest_of_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loadable, "newest_loadable", lambda: None)
    assert loadable.latest_opset() == newest_opset()
