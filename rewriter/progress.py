"""Progress of long work: the working code announces its steps, and a listener, if there is one, shows them.

By default there is no listener, and announcing costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""A function that is called with the name of the work, the number of steps done, and the number of all steps."""
Advance = Callable[[int], None]
"""A function that is called with the number of steps done since its last call."""

SECONDS_BETWEEN = 0.05
"""The seconds after which a listener hears of further steps."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report all work inside a `with` to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def is_shown() -> bool:
    """Whether there is a listener."""
    return _listener.get() is not None


def stage(what: str) -> None:
    """Announce work that has no steps."""
    listener = _listener.get()
    if listener is not None:
        listener(what, 0, 1)


def begin(what: str, total: int) -> Advance:
    """Announce work of `total` steps; returns the function to call as steps are done. The listener is not called for each of them,
    but often enough for a bar.
    """
    listener = _listener.get()
    if listener is None:
        return lambda steps: None
    done, told = 0, time.monotonic()
    listener(what, 0, total)

    def advance(steps: int) -> None:
        nonlocal done, told
        done = min(done + steps, total)
        now = time.monotonic()
        if done == total or now - told >= SECONDS_BETWEEN:
            told = now
            listener(what, done, total)

    return advance
