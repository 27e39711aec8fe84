"""A progress bar on the terminal, for work that takes more than two seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

PATIENCE = 2.0
"""The seconds that work has to take before a bar is shown."""


class Bar:
    """Shows one progress bar at a time, for work that is not done within `PATIENCE` seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = time.monotonic()
        self._what = ""
        self._shown: ProgressBar[Any] | None = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def update(self, what: str, done: int, total: int) -> None:
        """Take note of progress. This method is a `progress.Listener`."""
        if what != self._what or done == 0:
            self.close()
            self._what = what
        if done >= total or time.monotonic() - self._begun < PATIENCE:
            if done >= total:
                self.close()
            return
        if self._shown is None:
            self._shown = click.progressbar(length=total, label=what, file=self._stream)
            self._shown.__enter__()
        self._shown.update(done - self._shown.pos)

    def close(self) -> None:
        """Erase the bar from the terminal. The next work gets a new one."""
        if self._shown is not None:
            self._shown.__exit__(None, None, None)
            self._shown = None
