"""Nothing leaves the machine: onnxruntime runs with its telemetry off, and so leaves no identifier and no database behind."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from documentation import ROOT
from helpers import model

VARIABLE = "ORT_DISABLE_TELEMETRY"
FLAT = (
    "g (float[2] x) => (float[2] y) { c = Constant<value_ints: ints = [0]> () u = Unsqueeze(x, c) z = Squeeze(u, c) y = Relu(z) }"
)
LIBRARY = """
import sys
from split_rewrite.rewriter import convert_many, convert_version
print(convert_version("m.onnx", 11).report.comparison.status)
print(*(report.outcome for report in convert_many(["m.onnx"], 11, into="many")))
print("onnxruntime" in sys.modules)
"""
COMMAND = ["-m", "split_rewrite.rewriter", "-t", "11", "m.onnx", "o.onnx", "--compare", "model", "--verify-with", "onnxruntime"]
RUNS = {"the command line": (COMMAND, {VARIABLE: "0"}, "equal"), "the library": (["-c", LIBRARY], {}, "equal\nconverted\nFalse\n")}


@pytest.mark.parametrize(("arguments", "own", "said"), RUNS.values(), ids=RUNS)
def test_onnxruntime_leaves_nothing_in_the_home_folder(
    tmp_path: Path, arguments: list[str], own: dict[str, str], said: str
) -> None:
    """Whatever the user's own environment says of it."""
    home = tmp_path / "home"
    home.mkdir()
    onnx.save(model(FLAT), tmp_path / "m.onnx")
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), str(home))
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | places | own
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert list(home.rglob("*")) == []


def test_every_process_that_this_program_starts_has_telemetry_off() -> None:
    starts = [
        (path.name, {keyword.arg for keyword in node.keywords})
        for path in sorted(ROOT.glob("rewriter/**/*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("subprocess.run", "subprocess.Popen")
    ]
    assert {name for name, keywords in starts if "env" not in keywords} == {"adapters.py"}  # a child itself: its own are alike
    assert len(starts) == 4


@pytest.mark.parametrize("folder", ["models", "docs", "tests/benchmarks", "tests/fuzz"])
def test_every_script_turns_telemetry_off(folder: str) -> None:
    for path in ROOT.joinpath(folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        imported = re.search(r"^ *(import|from) onnxruntime", text, re.MULTILINE)
        turned_off = text.find(f'os.environ["{VARIABLE}"] = "1"')
        assert imported is None or 0 <= turned_off < imported.start(), path


def test_the_tests_themselves_have_it_off() -> None:
    assert os.environ[VARIABLE] == "1"
    assert f"export {VARIABLE}=1" in ROOT.joinpath(".ci/run").read_text(encoding="utf-8")
