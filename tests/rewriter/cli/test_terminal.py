"""What reaches a terminal: lines without control characters, also where a stream is broken."""

from __future__ import annotations

import gc
import io
import os

import pytest

from split_rewrite.rewriter import SplitRewriteError
from split_rewrite.rewriter.cli.terminal import LONGEST_LINE, lean_imports, one_line, say, use_colors

pytestmark = pytest.mark.quick


def test_a_line_shows_what_would_move_the_cursor() -> None:
    assert one_line("a\nb\x1b[2Jé漢") == r"a\nb\x1b[2Jé漢"


def test_a_long_line_is_cut_and_says_how_long_it_was() -> None:
    assert one_line("a" * LONGEST_LINE) == "a" * LONGEST_LINE
    assert one_line("a" * 3000) == "a" * LONGEST_LINE + "… (3,000 characters)"


def test_a_stream_that_takes_nothing_is_an_error(tmp_path) -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

        def fileno(self) -> int:
            return os.open(tmp_path / "stream", os.O_WRONLY | os.O_CREAT)

    with pytest.raises(SplitRewriteError, match="standard output: cannot be written: No space left on device"):
        say("text", Full())


def test_lean_imports_leave_the_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with lean_imports():
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1" and not gc.isenabled()
    assert "OPENBLAS_NUM_THREADS" not in os.environ and gc.isenabled()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("when", "environment", "stream", "is_coloured"),
    [
        ("auto", {}, Terminal, True),
        ("auto", {}, io.StringIO, False),
        ("auto", {"NO_COLOR": "1"}, Terminal, False),
        ("auto", {"TERM": "dumb"}, Terminal, False),
        ("never", {}, Terminal, False),
        ("always", {"NO_COLOR": "1"}, io.StringIO, True),
    ],
)
def test_colours(
    monkeypatch: pytest.MonkeyPatch, when: str, environment: dict[str, str], stream: type[io.StringIO], is_coloured
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    use_colors(when)
    out = stream()
    say("error: no", out)
    use_colors("auto")
    assert out.getvalue() == ("\x1b[31m\x1b[1merror:\x1b[0m no\n" if is_coloured else "error: no\n")
