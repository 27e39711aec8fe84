"""What others' pipelines run: the pre-commit hook and the steps of the GitHub action say what the program understands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from helpers import command_line, model

ROOT = Path(__file__).resolve().parents[2]
GOOD = "g (float[2] x) => (float[2] y) { y = Relu(x) }"
REFUSED = 'g (string[2] x) => (string[2] y) { y = StringNormalizer<case_change_action = "UPPER">(x) }'


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(model(GOOD), "good.onnx")
    onnx.save(model(REFUSED), "refused one.onnx")
    return tmp_path


def test_the_hook(models):
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry = re.search(r"entry: split-rewrite (.+)", hooks)
    assert entry is not None
    arguments = [*entry[1].split(), "--target-opset", "5"]
    assert command_line(*arguments, "good.onnx") == (0, "", "")
    alone = command_line(*arguments, "refused one.onnx")
    assert (alone.status, alone.out) == (1, "")
    assert alone.err.startswith("cannot be converted: StringNormalizer ") and alone.err.count("\n") == 1
    ended = command_line(*arguments, "good.onnx", "refused one.onnx")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("error: refused one.onnx: StringNormalizer ") and ended.err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the action runs in bash")
@pytest.mark.parametrize(("named", "status"), [("good.onnx", 0), ("good.onnx\nrefused one.onnx\n", 1), ("*.onnx", 1)])
def test_the_step_of_the_action(models, named, status):
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    program = action.rpartition("run: |\n")[2]
    folder = models / "split-rewrite/bin"
    folder.mkdir(parents=True)
    script = f'#!/bin/sh\nexec "{sys.executable}" -m split_rewrite.rewriter "$@"\n'
    (folder / "split-rewrite").write_text(script)
    (folder / "split-rewrite").chmod(0o755)
    given = {"RUNNER_TEMP": str(models), "MODELS": named, "TARGET": "5", "OPTIONS": "", "SARIF": "onnx.sarif"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", program], env=os.environ | given, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert Path("onnx.sarif").exists()
