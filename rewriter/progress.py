"""Progress of long work: the working code announces its steps, and a listener, if there is one, shows them.

By default there is no listener, and announcing costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
"""A function that is called with the name of the work, the number of steps done, and the number of all steps."""
Advance = Callable[[int], None]
"""A function that is called with the number of steps done since its last call."""

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


def begin(what: str, total: int) -> Advance:
    """Announce work of `total` steps; returns the function to call as steps are done."""
    listener = _listener.get()
    if listener is None:
        return lambda steps: None
    done = 0
    listener(what, 0, total)

    def advance(steps: int) -> None:
        nonlocal done
        done = min(done + steps, total)
        listener(what, done, total)

    return advance
