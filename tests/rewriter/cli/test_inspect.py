"""The subcommand that says what a model is: its arguments, and the files that it may not write."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from helpers import command_line, model


@pytest.fixture
def path(tmp_path: Path) -> str:
    onnx.save(model("g (float[2] x) => (float[2] y) { y = Relu(x) }"), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_a_report_is_json_or_a_page(path: str) -> None:
    ended = command_line("inspect", path, "--report", "a.txt")
    assert ended.status == 2 and "--report a.txt: its name has to end with .json or .html" in ended.err


def test_a_report_does_not_replace_the_model(path: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").symlink_to(path)
    ended = command_line("inspect", path, "--report", str(tmp_path / "m.json"))
    assert ended.status == 2 and "would replace" in ended.err


def test_a_missing_model_is_told() -> None:
    ended = command_line("inspect", "nowhere.onnx")
    assert ended.status == 2 and "nowhere.onnx" in ended.err and ended.out == ""


def test_a_model_is_shown_and_reported(path: str, tmp_path: Path) -> None:
    ended = command_line("inspect", path, "--report", str(tmp_path / "r.json"), "--report", str(tmp_path / "r.html"))
    assert (ended.status, ended.err) == (0, "") and "Relu 1" in ended.out
    assert json.loads((tmp_path / "r.json").read_text())["nodes"] == 1
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads(command_line("inspect", path, "--report", "-").out)["opset"] == 18


def test_two_models_are_compared(path: str, tmp_path: Path) -> None:
    onnx.save(model("g (float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path / "n.onnx")
    ended = command_line("inspect", path, str(tmp_path / "n.onnx"))
    assert ended.out == "changed: Relu 'y': Relu → Neg\n0 added, 0 removed, 1 changed\n"
