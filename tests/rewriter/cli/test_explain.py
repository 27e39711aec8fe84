"""The subcommand that explains a message: where the text comes from, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
from helpers import command_line, model

UNKNOWN = "no message that split-rewrite knows is in this text. Give the whole log; or try"


def test_an_unknown_message_says_what_to_try() -> None:
    ended = command_line("explain", "the printer is on fire")
    assert (ended.status, ended.out) == (1, "") and ended.err.startswith(UNKNOWN) and "inspect" in ended.err


def test_a_missing_model_is_told() -> None:
    ended = command_line("explain", "Missing model IR version.", "nowhere.onnx")
    assert ended.status == 2 and ended.err.startswith("error: ") and "nowhere.onnx" in ended.err


def test_a_missing_log_is_told() -> None:
    for name in ("nowhere.txt", "logs/nowhere.log", "nowhere.onnx"):
        ended = command_line("explain", name)
        assert (ended.status, ended.out, ended.err) == (2, "", f"error: {name}: there is no such file\n")


def test_a_message_a_log_and_a_model(tmp_path: Path) -> None:
    message = "RuntimeError: No Adapter From Version $18 for Split"
    (tmp_path / "log.txt").write_text(f"Traceback\n  ...\n{message}\n")
    text = "g (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"
    onnx.save(model(text, 18), tmp_path / "m.onnx")
    alone, log = command_line("explain", message), command_line("explain", str(tmp_path / "log.txt"))
    assert (alone.status, log.status) == (0, 0)
    assert "helps       split-rewrite -t 17 model.onnx out.onnx\n" in alone.out and f"line        3: {message}" in log.out
    tried = command_line("explain", message, str(tmp_path / "m.onnx"), "--json")
    assert json.loads(tried.out)["commands"] == [
        {"command": f"split-rewrite -t 17 {tmp_path / 'm.onnx'} out.onnx", "works": True, "refusal": ""}
    ]
