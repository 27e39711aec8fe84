"""docs/options.md is made from the program, and its examples run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, model

from split_rewrite.rewriter.cli.help import SECTIONS
from split_rewrite.rewriter.cli.options_page import main, page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "options.md"
MODEL = "g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"
CUSTOM = """<ir_version: 8, opset_import: ["" : 18, "com.example" : 1]>
g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) { m = com.example.Mystery (x) y, z = Split <axis = 1, num_outputs = 2> (m) }"""
TREES = """<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 4]>
g (string[N] x) => (int64[N] y) { y = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [5, 7]> (x) }"""
OPERATORS = """
from onnx.reference.op_run import OpRun

class Mystery(OpRun):
    op_domain = "com.example"

    def _run(self, x):
        return (x,)
"""
NEEDS_MORE = ("--scheduler",)
"""The options whose examples need a cluster."""
ENTRIES = [entry for rows in SECTIONS.values() for entry in rows]


def test_the_page_is_up_to_date(tmp_path: Path) -> None:
    main(tmp_path / "options.md")
    written = (tmp_path / "options.md").read_text(encoding="utf-8")
    assert written == page() == PAGE.read_text(encoding="utf-8"), (
        "run python -m split_rewrite.rewriter.cli.options_page docs/options.md"
    )


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.option)
def test_an_example_is_of_its_option_and_runs(entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model(MODEL, 18), "model.onnx")
    onnx.save(model(CUSTOM), "custom.onnx")
    onnx.save(model(TREES), "trees.onnx")
    Path("zoo").mkdir()
    onnx.save(model(MODEL, 18), "zoo/one.onnx")
    np.savez("inputs.npz", x=np.ones((2, 4), np.float32))
    Path("operators.py").write_text(OPERATORS)
    Path("python").symlink_to(sys.executable)
    if entry.option == "--python":
        monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
        Path("python").unlink()
        Path("python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        Path("python").chmod(0o755)
    words = shlex.split(entry.example)
    letters = {"--target-opset": "-t", "--output": "-o", "--jobs": "-j", "--quiet": "-q", "--verbose": "-v"}
    assert {entry.option, letters.get(entry.option), entry.option.replace("overwrite-", "")} & set(words)
    ended = command_line(*words)
    assert ended.status == (2 if entry.option in NEEDS_MORE else 0), ended.err
