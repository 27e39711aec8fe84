"""`split-rewrite reproduce` from the command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers import command_line, model

TEXT = "g (float[2] own, string[2] t) => (float[2] y, string[2] z) { y = Relu (own) z = StringConcat (t, t) }"


@pytest.fixture(name="path")
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(model(TEXT, 20), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_the_model_itself_is_not_replaced(path: Path) -> None:
    before = path.read_bytes()
    ended = command_line("reproduce", str(path), str(path), "-t", "13")
    assert (ended.status, ended.out) == (2, "")
    assert "the model that fails alike would replace INPUT" in ended.err
    assert path.read_bytes() == before


def test_the_weights_of_the_model_are_not_replaced(path: Path) -> None:
    proto = model("g (float[2] own) => (float[2] y) { y = Mul (own, w) }", 20)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.float32), "w"))
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="m.data")
    ended = command_line("reproduce", str(path), "m.data", "-t", "13")
    assert (ended.status, ended.out) == (2, "")
    assert "would replace the external data of INPUT" in ended.err


def test_there_is_nothing_to_reproduce(path: Path) -> None:
    ended = command_line("reproduce", str(path), "-t", "21")
    assert ended.status == 1
    assert "is converted without an error: there is nothing to reproduce" in ended.out
    assert not path.with_name("reproduced.onnx").exists()


@pytest.mark.parametrize(
    "more", [[], ["small.onnx"], ["-o", "small.onnx"], ["-osmall.onnx"]], ids=["default", "argument", "option", "joined"]
)
def test_the_printed_command_shows_the_failure(path: Path, more: list[str]) -> None:
    ended = command_line("reproduce", str(path), *more, "-t", "13", "--seed", "3")
    written = "small.onnx" if more else "reproduced.onnx"
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "reduced to 1 of 2 nodes, and fails in the same way:"
    assert "StringConcat is new in opset 20 and older operators cannot express it exactly" in lines[1]
    assert lines[-1] == f"  split-rewrite -t 13 --seed 3 {written} out.onnx"
    _, *arguments = shlex.split(lines[-1])
    again = command_line(*arguments)
    assert again.status == 1 and lines[1].strip() in again.err


def test_quiet_says_nothing(path: Path) -> None:
    ended = command_line("reproduce", str(path), "-q", "-t", "13")
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert path.with_name("reproduced.onnx").exists()


def test_a_stream_is_no_file_to_write(path: Path) -> None:
    ended = command_line("reproduce", str(path), "-", "-t", "13")
    assert ended.status == 2 and "reproduce writes a file: name OUTPUT." in ended.err


def test_names_of_options_are_told(path: Path) -> None:
    ended = command_line("reproduce", str(path), "-t", "13", "--test-input-shape", "t:2")
    assert "names are replaced, but for t, which the options name" in ended.out


def test_a_missing_model(path: Path) -> None:
    ended = command_line("reproduce", "nothing.onnx", "-t", "13")
    assert (ended.status, ended.err) == (2, "error: nothing.onnx: No such file or directory\n")


def test_the_usage_has_the_subcommand(path: Path) -> None:
    assert command_line("reproduce", "--help").out.startswith("Usage: split-rewrite reproduce [OPTIONS] INPUT [OUTPUT]")
