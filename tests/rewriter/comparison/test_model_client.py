"""The child that runs models finds the modules that this process finds, wherever either of them works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from split_rewrite.rewriter.comparison.model_client import _import_path


def test_names_that_import_hooks_know_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An editable installation finds its packages by such a name, which is no path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib").mkdir()
    hook = "__editable__.something-1.0.finder.__path_hook__"
    monkeypatch.setattr(sys, "path", ["", "lib", hook, "/nowhere/at/all"])
    assert _import_path() == [str(tmp_path), str(tmp_path / "lib"), hook, "/nowhere/at/all"]
