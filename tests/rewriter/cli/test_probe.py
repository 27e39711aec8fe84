"""The subcommand that probes a runtime: its arguments, and the files that it may not write."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import command_line

from split_rewrite.rewriter.runtimes import probing

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("arguments", [[], ["onnxruntime", "--adapter", "mine:Mine"]])
def test_one_runtime_is_named(arguments: list[str]) -> None:
    ended = command_line("probe", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert "name a RUNTIME, or --adapter MODULE:CLASS" in ended.err


def test_the_profile_is_printed_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "probe_runtime", lambda target: target.spec if hasattr(target, "spec") else target)
    monkeypatch.setattr(probing, "as_toml", lambda name, _: f'title = "{name}"')
    assert command_line("probe", "onnxruntime").out == 'title = "onnxruntime"\n'
    path = tmp_path / "profile.toml"
    assert command_line("probe", "onnxruntime", "-o", str(path)).out == ""
    assert path.read_text() == 'title = "onnxruntime"'


def test_the_interpreter_is_not_overwritten(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("mine")
    ended = command_line("probe", "onnxruntime", "--python", str(python), "-o", str(python))
    assert ended.status == 2 and "would replace" in ended.err
    assert python.read_text() == "mine"
