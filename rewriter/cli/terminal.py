"""The program's standard streams and its start: lines that a terminal can show, and imports that cost little time."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn, TextIO

import click

from ..errors import SplitRewriteError

PROGRAM = "split-rewrite"
LONGEST_LINE = 2000
"""The number of characters up to which a line is printed in full."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def unwind_on_signals() -> None:
    """From now on a signal ends the program as any error does, so that temporary files go."""
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _unwind)


def _unwind(number: int, _: FrameType | None) -> NoReturn:
    """Raise what ends the program; further signals do not disturb that."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


@contextmanager
def lean_imports() -> Iterator[None]:
    """Switch the garbage collector off during imports, since modules are never garbage. This saves 12 % of a start.

    And numpy's BLAS starts no threads: they spin for 0.1 s of processor time, and nothing here multiplies matrices.
    A signal ends the program at once: there are no files to remove yet, and an exception in the midst of onnx's native code,
    which is being initialized, would crash it.
    """
    inherited = os.environ.get(_BLAS_THREADS)
    os.environ.setdefault(_BLAS_THREADS, "1")
    handled = [number for number in _SIGNALS if signal.getsignal(number) == _unwind]
    for number in handled:
        signal.signal(number, signal.SIG_DFL)
    gc.disable()
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, _unwind)
        gc.freeze()
        gc.set_threshold(100_000)  # looking after every 700 objects would cost 5 % of the conversion of a million nodes
        gc.enable()
        if inherited is None:
            del os.environ[_BLAS_THREADS]


def one_line(text: str) -> str:
    """`text` on one line, with unprintable characters escaped, and cut if it is long: names in a model may contain anything."""
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]}… ({len(text):,} characters)"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class _Colors:
    """Whether lines are coloured: True, False, or None for where a terminal shows them."""

    wanted: bool | None = None


_LABELS = {"error:": "red", "internal error:": "red", "cannot be converted:": "red", "interrupted": "yellow", "warning:": "yellow"}
"""Words at the beginning of a line, and the colours that they have on a terminal."""


def use_colors(when: str) -> None:
    """Colour lines "always", "never", or ("auto") on terminals, unless NO_COLOR is set or the terminal is dumb."""
    unwanted = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    _Colors.wanted = {"always": True, "never": False}.get(when, False if unwanted else None)


def _coloured(text: str) -> str:
    for label, color in _LABELS.items():
        if text.startswith(label):
            return click.style(label, fg=color, bold=True) + text[len(label) :]
    return text


def say(text: str, stream: TextIO | None = None) -> None:
    """Print `text` to `stream`, by default standard output. Raises: SplitRewriteError where the stream cannot be written."""
    chosen = sys.stdout if stream is None else stream
    try:
        click.echo(_coloured(text), file=chosen, color=_Colors.wanted)
    except BrokenPipeError:
        discard(chosen)  # whoever read it has seen enough
    except OSError as error:
        discard(chosen)
        name = "standard error" if chosen is sys.stderr else "standard output"
        raise SplitRewriteError(f"{name}: cannot be written: {error.strerror or error}") from error


def discard(stream: TextIO) -> None:
    """Let `stream` lead nowhere: the interpreter flushes standard streams when it ends, and must not fail then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def open_streams() -> None:
    """Open substitutes for closed standard streams, so that no other file gets their numbers and messages end up in a model.

    Reading from or writing to the substitute fails, as with a closed stream, except for messages.
    """
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest number that is free: this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - until the end
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
