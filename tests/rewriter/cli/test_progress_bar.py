"""The progress bar: on terminals only, and only for what takes long."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import helpers
import onnx
import pytest

from split_rewrite.rewriter.cli import progress_bar


def test_nothing_is_shown_of_what_is_quick() -> None:
    stream = io.StringIO()
    with progress_bar.Bar(stream) as shown:
        shown.update("copying", 0, 10)
        shown.update("copying", 5, 10)
    assert stream.getvalue() == ""


def test_what_takes_long_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "PATIENCE", -1.0)
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal, progress_bar.Bar(terminal) as shown:
        shown.update("copying", 0, 10)
        shown.update("copying", 5, 10)
        shown.update("copying", 10, 10)
    seen = read_all(master)
    assert "copying" in seen and "50%" in seen


def read_all(master: int) -> str:
    """What was written to the terminal, whose other end is closed; it may come in parts."""
    parts = []
    with os.fdopen(master, "rb", buffering=0) as terminal, suppress(OSError):  # Linux ends with EIO
        while part := terminal.read(65536):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("options", [[], ["-q"]], ids=["no-terminal", "quiet"])
def test_no_bar_without_a_terminal_or_with_q(options: list[str], tmp_path: Path) -> None:
    source = tmp_path / "in.onnx"
    onnx.save(helpers.model("g (float[4] x) => (float[4] y) {y = Relu(x)}", 13), source)
    program = "import sys; from split_rewrite.rewriter.cli import command, progress_bar; progress_bar.PATIENCE = -1.0; sys.exit(command.run(sys.argv[1:]))"
    arguments = [str(source), str(tmp_path / "out.onnx"), "-t", "18", "--compare", "off", *options]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert "converting" not in done.stderr
